//! Links, the table of contents, and the size of README.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use pogo_tests::workspace;

use super::Page;

/// The targets of links and pictures in a text: `](TARGET)` and `]: TARGET`, without titles.
fn targets(prose: &str) -> Vec<String> {
    let inline = prose.match_indices("](").filter_map(|(at, _)| prose[at + 2..].split([')', ' ']).next());
    let defined = prose.lines().filter_map(|line| Some(line.strip_prefix('[')?.split_once("]: ")?.1));
    inline.chain(defined).map(|target| target.trim().to_owned()).filter(|target| !target.is_empty()).collect()
}

/// The anchors of a page's headings, as GitHub and mdBook make them.
fn anchors(page: &Page) -> BTreeSet<String> {
    let text = included(page);
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |line: &str| {
        let kept = line.trim_start_matches('#').trim().to_lowercase();
        let kept: String = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect();
        kept.replace(' ', "-")
    };
    headings.map(anchor).collect()
}

/// The prose of a page, with that of files it includes (`{{#include FILE}}` and `{{#include FILE:ANCHOR}}`).
fn included(page: &Page) -> String {
    let (_, prose) = page.split();
    let mut out = String::new();
    for line in prose.lines() {
        match line.strip_prefix("{{#include ").and_then(|rest| rest.strip_suffix("}}")) {
            None => out += line,
            Some(what) => {
                let (file, anchor) = what.split_once(':').unwrap_or((what, ""));
                let (_, text) = Page::read(plain(&page.folder().join(file))).split();
                let begin = format!("ANCHOR: {anchor} -->");
                let end = format!("<!-- ANCHOR_END: {anchor} -->");
                let part = text.split_once(&begin).map_or(text.as_str(), |(_, rest)| rest);
                out += part.split_once(&end).map_or(part, |(part, _)| part);
            }
        }
        out.push('\n');
    }
    out
}

/// A path without `..` and `.`.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut path, part| {
        match part {
            Component::ParentDir => assert!(path.pop(), "a link leads out of the project"),
            Component::CurDir => {}
            part => path.push(part),
        }
        path
    })
}

/// What is wrong with a link of a page.
fn wrong(page: &Page, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let name = if file.is_empty() { page.name.clone() } else { plain(&page.folder().join(file)) };
    if !workspace().join(&name).exists() {
        return Some(format!("{} does not exist", name.display()));
    }
    if page.name.starts_with("docs") && !name.starts_with("docs") {
        return Some(format!("{} is no part of the book: name it without a link", name.display()));
    }
    if anchor.is_empty() || name.extension().is_none_or(|extension| extension != "md") {
        return None;
    }
    let found = anchors(&Page::read(&name)).contains(anchor);
    (!found).then(|| format!("{} has no heading #{anchor}", name.display()))
}

#[test]
fn links_of_readme_and_book_lead_somewhere() {
    let mut pages = Page::all();
    let others = ["ARCHITECTURE.md", "BENCHMARKS.md", "CHANGELOG.md", "CONTRIBUTING.md", "NOTATION.md", "SECURITY.md"];
    pages.extend(others.map(Page::read));
    super::markdown_below(Path::new("examples"), &mut Vec::new());
    let mut names = Vec::new();
    super::markdown_below(Path::new("examples"), &mut names);
    let built = |name: &PathBuf| name.starts_with("examples/build");
    pages.extend(names.into_iter().filter(|name| !built(name)).map(Page::read));
    let mut problems = Vec::new();
    for page in &pages {
        let prose = if page.name.starts_with("docs") { included(page) } else { page.split().1 };
        for target in targets(&prose) {
            problems.extend(wrong(page, &target).map(|why| format!("{}: `{target}`: {why}", page.name.display())));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn contents_of_book_name_every_page_once() {
    let summary = Page::read("docs/SUMMARY.md");
    let listed: Vec<PathBuf> = targets(&summary.text).iter().map(|target| Path::new("docs").join(target)).collect();
    let once: BTreeSet<&PathBuf> = listed.iter().collect();
    assert_eq!(once.len(), listed.len(), "SUMMARY.md lists a page twice");
    let pages = Page::all().into_iter().map(|page| page.name).filter(|name| name.starts_with("docs"));
    let pages: BTreeSet<PathBuf> = pages.filter(|name| *name != summary.name).collect();
    let missing: Vec<&PathBuf> = pages.iter().filter(|name| !once.contains(name)).collect();
    assert!(missing.is_empty(), "docs/SUMMARY.md does not list {missing:?}");
    let lost: Vec<&&PathBuf> = once.iter().filter(|name| !pages.contains(**name)).collect();
    assert!(lost.is_empty(), "docs/SUMMARY.md lists {lost:?}, which do not exist");
}

#[test]
fn readme_is_for_two_minutes() {
    let readme = Page::read("README.md");
    assert!(readme.text.lines().count() <= 120, "README.md has more than 120 lines: the rest belongs in docs/");
    for (number, line) in readme.text.lines().enumerate() {
        assert!(line.chars().count() <= 100, "README.md:{}: more than 100 columns", number + 1);
    }
}
