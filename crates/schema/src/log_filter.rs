//! Log filters of daemons: `info`, or `info,tandem_agent::endpoints=debug`.

use crate::diagnostic::Invalid;
use crate::read::clip;
use crate::shape::Shape;
use crate::value_type::{Literal, Parsed, ValueType};

/// A level, or a list with levels of modules. The value is a `String`.
pub const LOG_FILTER: Shape = Shape::Custom(&LogFilter);

const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];

#[derive(Debug)]
struct LogFilter;

impl ValueType for LogFilter {
    fn expected(&self) -> String {
        "error, warn, info, debug, trace or off, or a list with levels of modules such as \
         `info,tandem_agent::endpoints=debug`"
            .to_owned()
    }

    fn summary(&self) -> String {
        "log levels".to_owned()
    }

    fn example(&self) -> String {
        "\"warn\"".to_owned()
    }

    fn json_schema(&self) -> serde_json::Value {
        serde_json::json!({ "type": "string" })
    }

    fn parse(&self, key: &str, literal: Literal<'_>) -> Result<Parsed, Invalid> {
        let Literal::Text(text) = literal else {
            return Err(Invalid::new(format!("`{key}` is not a text")));
        };
        match text.split(',').map(str::trim).find(|part| !is_directive(part)) {
            Some(part) => Err(Invalid::new(format!("invalid log filter `{}`", clip(part)))),
            None => Ok(Parsed::new(text.to_owned())),
        }
    }
}

/// True for a level, or a module with its level.
fn is_directive(text: &str) -> bool {
    let (module, level) = text.split_once('=').unwrap_or(("tandem", text));
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'-');
    !module.is_empty()
        && module.bytes().all(is_name)
        && LEVELS.iter().any(|known| known.eq_ignore_ascii_case(level))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_checked_part_by_part() {
        let parse = |text| LogFilter.parse("log", Literal::Text(text));
        for filter in ["debug", "off", "warn, agent=debug", "info,tandem_agent::endpoints=TRACE"] {
            assert_eq!(parse(filter).unwrap().downcast(), Some(&filter.to_owned()));
        }
        for (filter, wrong) in [
            ("nonsense==", "nonsense=="),
            ("info,loud", "loud"),
            ("agent=loud", "agent=loud"),
            ("info,", ""),
            ("=debug", "=debug"),
            ("a b=info", "a b=info"),
        ] {
            assert_eq!(parse(filter).unwrap_err().message, format!("invalid log filter `{wrong}`"));
        }
    }
}
