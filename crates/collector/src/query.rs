//! Query parameters: every route has a list of them, and any other parameter is an error.

use crate::store::Filter;
use playback::State;

/// States of a session by their name in a query.
const STATES: [State; 3] = [State::Finished, State::Left, State::Failed];

/// Parameters of a request, each known to its route and given once.
#[derive(Default)]
pub(crate) struct Query(Vec<(String, String)>);

/// Problems of a query, one sentence each.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadQuery(pub(crate) Vec<String>);

impl BadQuery {
    pub(crate) fn new(problem: impl Into<String>) -> Self {
        Self(vec![problem.into()])
    }
}

impl Query {
    /// Reads a query string with parameters from `known` only.
    pub(crate) fn parse(query: Option<&str>, known: &[&str]) -> Result<Self, BadQuery> {
        let given: Vec<(String, String)> =
            url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned().collect();
        let mut problems = Vec::new();
        for (index, (name, _)) in given.iter().enumerate() {
            if !known.contains(&name.as_str()) {
                let valid = match known {
                    [] => "this address has no parameters".to_owned(),
                    known => format!("valid: {}", known.join(", ")),
                };
                problems.push(format!("unknown parameter `{name}`; {valid}"));
            } else if given[..index].iter().any(|(earlier, _)| earlier == name) {
                problems.push(format!("parameter `{name}` is given twice"));
            }
        }
        if problems.is_empty() { Ok(Self(given)) } else { Err(BadQuery(problems)) }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Reads a number within bounds; `None` if it is absent.
    pub(crate) fn number(&self, name: &str, (low, high): (u32, u32)) -> Result<Option<u32>, BadQuery> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let number = text.parse().ok().filter(|number| (low..=high).contains(number));
        let problem =
            || BadQuery::new(format!("parameter `{name}`: expected {low} to {high}, found `{text}`"));
        number.ok_or_else(problem).map(Some)
    }

    /// Reads `label` and `state`.
    pub(crate) fn filter(&self) -> Result<Filter, BadQuery> {
        let state = match self.get("state") {
            None => None,
            Some(name) => Some(STATES.into_iter().find(|state| state.name() == name).ok_or_else(|| {
                BadQuery::new(format!("parameter `state`: expected finished, left or failed, found `{name}`"))
            })?),
        };
        Ok(Filter { label: self.get("label").map(str::to_owned), state })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(query: &str) -> String {
        let known = ["limit", "label", "state"];
        let problem = Query::parse(Some(query), &known).and_then(|query| {
            query.number("limit", (1, 10))?;
            query.filter().map(drop)
        });
        problem.map_or_else(|BadQuery(problems)| problems.join("; "), |()| String::new())
    }

    #[test]
    fn wrong_parameters_are_named_with_the_valid_ones() {
        assert_eq!(problem("limit=10&label=a%20b&state=left"), "");
        assert_eq!(problem("limt=10"), "unknown parameter `limt`; valid: limit, label, state");
        assert_eq!(problem("label=a&label=b"), "parameter `label` is given twice");
        assert_eq!(problem("limit=11"), "parameter `limit`: expected 1 to 10, found `11`");
        assert_eq!(problem("limit="), "parameter `limit`: expected 1 to 10, found ``");
        assert_eq!(
            problem("state=ended"),
            "parameter `state`: expected finished, left or failed, found `ended`"
        );
        let none = Query::parse(Some("x=1"), &[]).err();
        assert_eq!(none, Some(BadQuery::new("unknown parameter `x`; this address has no parameters")));
    }
}
