//! Cases of a comparison, from the options of `tandem compare`.

use crate::arguments::{Compare, Variation};
use crate::failure::{Failure, reason};
use crate::input::{self, Input};
use experiments::compare::Case;
use policy::PolicyConfig;
use scenario::{Scenario, Setting};
use std::path::{Path, PathBuf};

/// Ends of keys that name files. Their values may be patterns.
const FILE_KEYS: [&str; 3] = [".trace", ".trace.file", ".manifest"];

/// Every scenario with every combination of values and every policy; policies vary fastest, then
/// the last key.
pub(crate) fn cases(
    arguments: &Compare,
    inputs: &[Input],
    scenarios: &[Scenario],
) -> Result<Vec<Case>, Failure> {
    let varies = !arguments.vary.is_empty() || !arguments.vary_together.is_empty();
    if !varies && arguments.policies.is_empty() && inputs.len() < 2 {
        return Err(Failure::Usage {
            message: "there is nothing to compare".to_owned(),
            hint: "give --policies A,B, --vary KEY=A,B, or several scenarios".to_owned(),
        });
    }
    let mut cases: Vec<Case> = Vec::new();
    for (input, scenario) in inputs.iter().zip(scenarios) {
        let file = (inputs.len() > 1).then(|| input.label().to_owned());
        for (option, settings) in combinations(arguments, input, scenario)? {
            let scenario = match settings.as_slice() {
                [] => scenario.clone(),
                settings => input.apply(scenario, option, settings)?,
            };
            for policy in policies(arguments) {
                let (file, settings) = (file.clone(), settings.clone());
                let case = Case { file, scenario: scenario.clone(), settings, policy };
                if cases.iter().any(|other| other.name() == case.name()) {
                    return Err(given_twice(&case));
                }
                cases.push(case);
            }
        }
    }
    Ok(cases)
}

fn policies(arguments: &Compare) -> Vec<Option<PolicyConfig>> {
    match arguments.policies.as_slice() {
        [] => vec![None],
        policies => policies.iter().cloned().map(Some).collect(),
    }
}

fn given_twice(case: &Case) -> Failure {
    Failure::Usage {
        message: format!("`{}` is given twice", case.name()),
        hint: "give each scenario, policy and value once; `emtcp:0.1,emtcp:0.4` are different policies"
            .to_owned(),
    }
}

/// Every combination of settings, with the option that gives them in messages; the last key varies
/// fastest.
fn combinations(
    arguments: &Compare,
    input: &Input,
    scenario: &Scenario,
) -> Result<Vec<(&'static str, Vec<Setting>)>, Failure> {
    let mut all: Vec<(&'static str, Vec<Setting>)> = vec![("--vary", Vec::new())];
    let mut multiply = |option: &'static str, alternatives: &[Vec<Setting>]| {
        all = all
            .iter()
            .flat_map(|(_, list)| {
                alternatives.iter().map(move |more| (option, list.iter().chain(more).cloned().collect()))
            })
            .collect();
    };
    for together in &arguments.vary_together {
        multiply("--vary-together", &rows(&together.0, input, scenario)?);
    }
    for variation in &arguments.vary {
        let values = values(variation, input, scenario, "--vary")?;
        multiply("--vary", &values.into_iter().map(|value| vec![value]).collect::<Vec<_>>());
    }
    // Every combination has the same keys.
    if let Some((option, settings)) = all.first() {
        let check = Setting::check_varied(settings, &scenario.source).and_then(|()| {
            if arguments.policies.is_empty() { Ok(()) } else { Setting::check_no_policy(settings) }
        });
        check
            .map_err(|error| Failure::Usage { message: format!("{option}: {error}"), hint: error.hint() })?;
    }
    Ok(all)
}

/// Settings of keys that vary together: one list of settings for each element.
fn rows(keys: &[Variation], input: &Input, scenario: &Scenario) -> Result<Vec<Vec<Setting>>, Failure> {
    const OPTION: &str = "--vary-together";
    let columns: Vec<Vec<Setting>> =
        keys.iter().map(|key| values(key, input, scenario, OPTION)).collect::<Result<_, _>>()?;
    let count = columns.first().map_or(0, Vec::len);
    if let Some(other) = columns.iter().find(|column| column.len() != count) {
        let name = |column: &[Setting]| column.first().map_or_else(String::new, Setting::key);
        return Err(Failure::Usage {
            message: format!(
                "{OPTION}: `{}` has {count} values, `{}` has {}",
                name(&columns[0]),
                name(other),
                other.len()
            ),
            hint: "give each key the same number of values; a pattern stands for the files that it matches"
                .to_owned(),
        });
    }
    let row = |i: usize| columns.iter().map(|column| column[i].clone()).collect();
    Ok((0..count).map(row).collect())
}

/// The values of a key, with the whole key and with patterns of files expanded.
pub(crate) fn values(
    variation: &Variation,
    input: &Input,
    scenario: &Scenario,
    option: &str,
) -> Result<Vec<Setting>, Failure> {
    let mut all = Vec::new();
    for setting in &variation.0 {
        let setting = input::resolve(setting, scenario, option)?;
        if setting.key() == "seed" {
            return Err(Failure::Usage {
                message: format!("{option}: `seed` cannot vary, because every case runs with the same seeds"),
                hint: "`--seeds N` sets their number, `--set seed=S` the first one".to_owned(),
            });
        }
        let text = setting.text().trim_matches(['"', '\'']);
        let is_file = FILE_KEYS.iter().any(|end| setting.key().ends_with(end));
        if !is_file || !is_pattern(text, input.folder()) {
            all.push(setting);
            continue;
        }
        let files = matching_files(input.folder(), text)?;
        if files.is_empty() {
            return Err(Failure::Usage {
                message: format!("{option}: no file matches `{text}`"),
                hint: "patterns are relative to the folder of the scenario".to_owned(),
            });
        }
        for file in files {
            // In quotes, because the name of a file may look like another TOML value.
            let value = format!("\"{}\"", file.replace('\\', "\\\\").replace('"', "\\\""));
            all.push(Setting::new(&setting.key(), &value).map_err(|error| Failure::Usage {
                message: format!("{option}: {error}"),
                hint: error.hint(),
            })?);
        }
    }
    Ok(all)
}

/// True if the name of a file is a pattern. An existing file may have brackets in its name.
fn is_pattern(text: &str, folder: &Path) -> bool {
    let is_toml = text.starts_with('{') || (text.starts_with('[') && text.ends_with(']'));
    !is_toml && (text.contains(['*', '?']) || (text.contains('[') && !folder.join(text).exists()))
}

/// Files that match a pattern, relative to a folder as the pattern is, in alphabetical order.
fn matching_files(folder: &Path, pattern: &str) -> Result<Vec<String>, Failure> {
    let base = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let invalid = |why: &str| Failure::Usage {
        message: format!("invalid pattern `{pattern}`: {why}"),
        hint: "`*` matches any characters, `?` one, `[ab]` one of several".to_owned(),
    };
    let whole = if Path::new(pattern).is_absolute() {
        pattern.to_owned()
    } else {
        format!("{}/{pattern}", glob::Pattern::escape(&base.to_string_lossy()))
    };
    let paths = glob::glob(&whole).map_err(|error| invalid(error.msg))?;
    // A directory that cannot be read would leave files out without a word.
    let paths: Vec<PathBuf> = paths.collect::<Result<_, _>>().map_err(|error| Failure::Unreadable {
        message: format!(
            "cannot read the directory {} for the pattern `{pattern}`: {}",
            error.path().display(),
            reason(error.error())
        ),
        hint: "make it readable, or name the files".to_owned(),
    })?;
    let mut files: Vec<String> = paths
        .into_iter()
        .filter(|path| path.is_file())
        .map(|path| path.strip_prefix(base).unwrap_or(&path).to_string_lossy().into_owned())
        .collect();
    files.sort();
    Ok(files)
}
