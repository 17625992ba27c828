//! A page of Markdown: its code blocks with their notes, its links and its anchors.
//!
//! A note is an HTML comment before a block, which no reader sees; docs/README.md lists them.

use crate::support::repository;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use std::collections::BTreeSet;

pub(super) struct Page {
    /// Path from the root of the repository.
    pub(super) name: String,
    pub(super) text: String,
    pub(super) blocks: Vec<Block>,
    pub(super) links: Vec<Link>,
    /// Anchors of the headings, as a code host makes them.
    pub(super) anchors: BTreeSet<String>,
}

/// A code block, or the commands of a `setup` comment.
pub(super) struct Block {
    pub(super) line: usize,
    /// Word after the backticks; `sh` for an indented block.
    pub(super) language: String,
    /// Second word after the backticks: the block is saved under this name.
    pub(super) file: String,
    pub(super) text: String,
    /// Contents of the comments directly before the block.
    notes: Vec<String>,
}

pub(super) struct Link {
    pub(super) line: usize,
    pub(super) target: String,
    pub(super) is_image: bool,
}

impl Block {
    /// Whether its commands are run, not saved.
    pub(super) fn is_script(&self) -> bool {
        ["sh", "console"].contains(&self.language.as_str()) && self.file.is_empty()
    }

    /// Rest of the note that begins with `word`.
    pub(super) fn note(&self, word: &str) -> Option<&str> {
        let rest = self.notes.iter().find_map(|note| note.strip_prefix(word))?;
        Some(rest.trim_start_matches(':').trim())
    }

    /// Names of the needs of its commands, from its note. With `sudo` they need `root`.
    pub(super) fn needs(&self) -> Vec<&str> {
        let mut needs: Vec<&str> =
            self.note("needs").map(|list| list.split(", ").collect()).unwrap_or_default();
        if self.is_script() && self.text.lines().any(|line| line.starts_with("sudo ")) {
            needs.push("root");
        }
        needs
    }

    /// Why its commands are not run: its note, or that they build Tandem itself.
    pub(super) fn reason_not_to_run(&self) -> Option<&str> {
        let all_build = || self.is_script() && self.commands().iter().all(|command| builds_tandem(command));
        self.note("not run").or_else(|| all_build().then_some("builds the program"))
    }

    /// Command lines without prompts; a line that ends with a backslash continues in the next.
    /// Other lines of a `console` block are output.
    pub(super) fn commands(&self) -> Vec<String> {
        let mut commands: Vec<String> = Vec::new();
        let mut continues = false;
        for line in self.text.lines() {
            let prompted = without_prompt(line);
            match commands.last_mut().filter(|_| continues) {
                Some(command) => {
                    command.push('\n');
                    command.push_str(line);
                }
                None if self.language == "sh" => commands.push(line.to_owned()),
                None => match prompted {
                    Some(command) => commands.push(command.to_owned()),
                    None => continue,
                },
            }
            continues = line.ends_with('\\');
        }
        commands
    }

    /// Expected output in a `console` block.
    pub(super) fn console_output(&self) -> String {
        let mut continues = false;
        let lines = self.text.lines().filter(|line| {
            let is_command = continues || without_prompt(line).is_some();
            continues = is_command && line.ends_with('\\');
            !is_command
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// Whether a command builds Tandem itself, which the tests have done.
pub(super) fn builds_tandem(command: &str) -> bool {
    command.starts_with("make ") || command.starts_with("cargo ")
}

/// The command after a prompt such as `$ `, `device$ ` or `robot# `.
pub(super) fn without_prompt(line: &str) -> Option<&str> {
    let (host, command) = line.split_once("$ ").or_else(|| line.split_once("# "))?;
    let is_prompt =
        host.chars().all(|one| one.is_ascii_alphabetic()) && !(host.is_empty() && line.starts_with('#'));
    is_prompt.then_some(command)
}

impl Page {
    pub(super) fn read(name: &str) -> Self {
        let text = std::fs::read_to_string(repository().join(name))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        Self::parse(name, text)
    }

    pub(super) fn parse(name: &str, text: String) -> Self {
        let mut page = Self {
            name: name.to_owned(),
            text: String::new(),
            blocks: vec![],
            links: vec![],
            anchors: BTreeSet::new(),
        };
        let mut notes: Vec<String> = Vec::new();
        let mut heading: Option<String> = None;
        let mut block: Option<Block> = None;
        let mut html: Option<(String, usize)> = None;
        let line_of = |at: usize| text[..at].matches('\n').count() + 1;
        let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_STRIKETHROUGH;
        for (event, range) in Parser::new_ext(&text, options).into_offset_iter() {
            match event {
                Event::Start(Tag::HtmlBlock) => html = Some((String::new(), line_of(range.start))),
                Event::Html(line) => html.iter_mut().for_each(|(text, _)| text.push_str(&line)),
                Event::End(TagEnd::HtmlBlock) => {
                    html.take()
                        .into_iter()
                        .for_each(|(text, line)| page.take_comment(&text, line, &mut notes));
                }
                Event::Start(Tag::CodeBlock(kind)) => {
                    let info = match kind {
                        CodeBlockKind::Fenced(info) => info.to_string(),
                        CodeBlockKind::Indented => "sh".to_owned(),
                    };
                    let (language, file) = info.split_once(' ').unwrap_or((&info, ""));
                    block = Some(Block {
                        line: line_of(range.start),
                        language: language.to_owned(),
                        file: file.to_owned(),
                        text: String::new(),
                        notes: std::mem::take(&mut notes),
                    });
                }
                Event::End(TagEnd::CodeBlock) => page.blocks.extend(block.take()),
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    let anchor = anchor(&heading.take().unwrap_or_default());
                    let same = |n: usize| if n == 0 { anchor.clone() } else { format!("{anchor}-{n}") };
                    let unused = (0..1000).map(same).find(|one| !page.anchors.contains(one));
                    page.anchors.extend(unused);
                }
                Event::Start(Tag::Link { dest_url, .. }) => page.links.push(Link {
                    line: line_of(range.start),
                    target: dest_url.to_string(),
                    is_image: false,
                }),
                Event::Start(Tag::Image { dest_url, .. }) => page.links.push(Link {
                    line: line_of(range.start),
                    target: dest_url.to_string(),
                    is_image: true,
                }),
                Event::Text(piece) | Event::Code(piece) => {
                    if let Some(block) = &mut block {
                        block.text.push_str(&piece);
                    } else if let Some(heading) = &mut heading {
                        heading.push_str(&piece);
                    }
                }
                Event::Start(_) => notes.clear(),
                _ => {}
            }
        }
        page.text = text;
        page
    }

    /// Takes a comment as a note on the next block, or as commands of its own after `setup:`.
    fn take_comment(&mut self, html: &str, line: usize, notes: &mut Vec<String>) {
        let Some(comment) = html.trim().strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->")) else {
            return;
        };
        let comment = comment.trim();
        let Some(commands) = comment.strip_prefix("setup:") else { return notes.push(comment.to_owned()) };
        let text = format!("{}\n", commands.trim());
        self.blocks.push(Block { line, language: "sh".to_owned(), file: String::new(), text, notes: vec![] });
    }
}

/// Anchor of a heading: lower case, hyphens for spaces, without punctuation.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|one| one.is_alphanumeric() || [' ', '-', '_'].contains(one));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[test]
fn block_has_the_notes_directly_before_it() {
    let text = "<!-- setup: touch a -->\n\n<!-- not run: a phone -->\n```console\ndevice$ b \\\n  c\nd\n```\n\n    e\n";
    let page = Page::parse("p.md", text.to_owned());
    let [setup, console, indented] = page.blocks.as_slice() else { panic!("three blocks") };
    assert_eq!(setup.commands(), ["touch a"]);
    assert_eq!((console.note("not run"), console.line), (Some("a phone"), 4));
    assert_eq!((console.commands(), console.console_output().as_str()), (vec!["b \\\n  c".to_owned()], "d"));
    assert!(indented.is_script() && indented.note("not run").is_none());
}

#[test]
fn anchors_are_those_of_a_code_host() {
    let page = Page::parse("p.md", "# `result.json` of a run\n## A, b\n## A, b\n".to_owned());
    assert_eq!(page.anchors.into_iter().collect::<Vec<_>>(), ["a-b", "a-b-1", "resultjson-of-a-run"]);
}
