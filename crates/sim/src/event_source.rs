//! Event sources and their numbers in the event queue.

/// Subject of a scheduled event.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EventSource {
    /// A packet arrives over this medium.
    Medium(usize),
    /// Timer of a connection's client.
    Client(usize),
    /// Timer of a connection's server.
    Server(usize),
    /// Timer of a connection's application.
    App(usize),
    /// The interface of a path comes up or goes away.
    Path(usize),
    Policy,
    Recorder,
    /// A background flow sends a datagram.
    Background(usize),
    /// A segment leaves the middleboxes of a path.
    Middleboxes(usize),
}

/// Numbering of event sources: media, then client, server and application of each connection, then
/// paths, policy, recorder, background flows, and the middleboxes of each path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SourceNumbers {
    pub(crate) media: usize,
    pub(crate) connections: usize,
    pub(crate) paths: usize,
    pub(crate) background: usize,
    /// Number of paths if any path has middleboxes, else 0.
    pub(crate) middleboxes: usize,
}

impl SourceNumbers {
    /// Number of sources.
    pub(crate) fn count(&self) -> usize {
        self.media + 3 * self.connections + self.paths + 2 + self.background + self.middleboxes
    }

    pub(crate) fn source(&self, number: usize) -> EventSource {
        let Some(n) = number.checked_sub(self.media) else { return EventSource::Medium(number) };
        if n < 3 * self.connections {
            return match n % 3 {
                0 => EventSource::Client(n / 3),
                1 => EventSource::Server(n / 3),
                _ => EventSource::App(n / 3),
            };
        }
        let n = n - 3 * self.connections;
        match n.checked_sub(self.paths) {
            None => EventSource::Path(n),
            Some(0) => EventSource::Policy,
            Some(1) => EventSource::Recorder,
            Some(i) => match (i - 2).checked_sub(self.background) {
                None => EventSource::Background(i - 2),
                Some(path) => EventSource::Middleboxes(path),
            },
        }
    }

    pub(crate) fn number(&self, source: EventSource) -> usize {
        let first_path = self.media + 3 * self.connections;
        let policy = first_path + self.paths;
        match source {
            EventSource::Medium(i) => i,
            EventSource::Client(i) => self.media + 3 * i,
            EventSource::Server(i) => self.media + 3 * i + 1,
            EventSource::App(i) => self.media + 3 * i + 2,
            EventSource::Path(i) => first_path + i,
            EventSource::Policy => policy,
            EventSource::Recorder => policy + 1,
            EventSource::Background(i) => policy + 2 + i,
            EventSource::Middleboxes(i) => policy + 2 + self.background + i,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_maps_to_its_source_and_back() {
        let numbers = SourceNumbers { media: 4, connections: 3, paths: 2, background: 1, middleboxes: 2 };
        for number in 0..numbers.count() {
            assert_eq!(numbers.number(numbers.source(number)), number);
        }
    }
}
