//! Circles of imports between the files of a crate. A module and those inside it are one idea: what they take from one
//! another is no circle.

use std::collections::{BTreeMap, BTreeSet};

use super::source::Source;

/// A module's path in its crate, and a path in code.
type Path = Vec<String>;

/// What a file brings into scope: a path from the crate's root, under a name.
struct Import {
    path: Path,
    name: String,
}

/// A file of a crate.
struct File<'a> {
    path: &'a str,
    code: String,
    imports: Vec<Import>,
}

/// The circles of `files`, each with its text; tests are left out.
pub fn circles(files: &[(&str, Source)]) -> Vec<String> {
    let mut crates = BTreeMap::<&str, BTreeMap<Path, File<'_>>>::new();
    for (path, source) in files {
        let Some((of, inner)) = path.split_once("/src/") else { continue };
        // Next to a library, the program is a crate of its own.
        if inner == "main.rs" && files.iter().any(|(path, _)| *path == format!("{of}/src/lib.rs")) {
            continue;
        }
        let module = module_of(inner);
        let code: Vec<_> = source.code().map(|(_, code)| code).collect();
        let file =
            File { path, imports: imports(&code.join("\n"), &module), code: code.join("\n") };
        crates.entry(of).or_default().insert(module, file);
    }
    crates.values().flat_map(of_crate).collect()
}

fn module_of(inner: &str) -> Path {
    let names = inner.trim_end_matches(".rs").split('/');
    names.filter(|name| !["mod", "lib", "main"].contains(name)).map(String::from).collect()
}

/// The path from the crate's root of what a file of `module` calls `path`.
fn absolute(module: &[String], path: &[String]) -> Option<Path> {
    let supers = path.iter().take_while(|name| *name == "super").count();
    match path.first()?.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some([module, &path[1..]].concat()),
        "super" => {
            Some([module.get(..module.len().checked_sub(supers)?)?, &path[supers..]].concat())
        }
        _ => None,
    }
}

/// What the `use` statements of a file of `module` bring into scope from its crate.
fn imports(code: &str, module: &[String]) -> Vec<Import> {
    let mut found = Vec::new();
    for statement in code.split_inclusive([';', '}', '{']).scan(String::new(), joined) {
        let Some((_, tree)) = statement.split_once("use ") else { continue };
        expand(
            &mut Vec::new(),
            &tree.trim_end_matches(';').replace(char::is_whitespace, " "),
            &mut |path, name| {
                // A child is named without `self`.
                let path = absolute(module, path).unwrap_or_else(|| [module, path].concat());
                found.push(Import { path, name: name.into() });
            },
        );
    }
    found
}

/// Joins the pieces of a `use` statement with groups.
fn joined(open: &mut String, piece: &str) -> Option<String> {
    let begins = |text: &str| {
        let text = text.trim_start();
        let text = text.strip_prefix("pub").map_or(text, |text| match text.strip_prefix('(') {
            Some(rest) => rest.split_once(')').map_or("", |(_, rest)| rest),
            None => text,
        });
        text.trim_start().starts_with("use ")
    };
    if open.is_empty() && !begins(piece) {
        return Some(String::new());
    }
    open.push_str(piece);
    Some(if piece.ends_with(';') { std::mem::take(open) } else { String::new() })
}

/// Calls `each` with every path of a tree and the name that it has.
fn expand(before: &mut Path, tree: &str, each: &mut dyn FnMut(&[String], &str)) {
    let known = before.len();
    let (path, group) = match tree.split_once('{') {
        Some((path, group)) => (path, group.rsplit_once('}').map(|(group, _)| group)),
        None => (tree, None),
    };
    let (path, alias) = match path.split_once(" as ") {
        Some((path, alias)) => (path, Some(alias.trim())),
        None => (path, None),
    };
    before
        .extend(path.split("::").map(str::trim).filter(|name| !name.is_empty()).map(String::from));
    match group {
        Some(group) => {
            let (mut depth, mut from) = (0, 0);
            for (at, c) in group.char_indices().chain([(group.len(), ',')]) {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    ',' if depth == 0 => {
                        if !group[from..at].trim().is_empty() {
                            expand(before, &group[from..at], each);
                        }
                        from = at + 1;
                    }
                    _ => {}
                }
            }
        }
        None => {
            if before.last().is_some_and(|name| name == "self") && before.len() > 1 {
                before.pop();
            }
            if let Some(name) = before.last() {
                each(before, alias.unwrap_or(name));
            }
        }
    }
    before.truncate(known.min(before.len()));
}

/// The module that has what is at `path`, through what others hand on.
fn home<'m>(
    files: &'m BTreeMap<Path, File<'_>>,
    path: &[String],
    steps: usize,
) -> Option<&'m Path> {
    let (depth, (module, file)) = (0..=path.len())
        .rev()
        .find_map(|depth| Some((depth, files.get_key_value(&path[..depth])?)))?;
    let handed = path.get(depth).and_then(|name| file.imports.iter().find(|it| it.name == *name));
    match handed {
        Some(import) if steps > 0 => {
            let further = [&import.path[..], &path[depth + 1..]].concat();
            home(files, &further, steps - 1).or(Some(module))
        }
        _ => Some(module),
    }
}

fn of_crate(files: &BTreeMap<Path, File<'_>>) -> Vec<String> {
    let mut edges = BTreeMap::<&Path, BTreeSet<&Path>>::new();
    for (module, file) in files {
        let imported = file.imports.iter().map(|import| import.path.clone());
        let spelled = spelled(&file.code).into_iter().filter_map(|path| {
            let alias = file.imports.iter().find(|import| import.name == path[0]);
            match alias {
                Some(import) => Some([&import.path[..], &path[1..]].concat()),
                None => absolute(module, &path),
            }
        });
        let used: Vec<_> = imported.chain(spelled).collect();
        let used = used.iter().filter_map(|path| home(files, path, 8));
        edges.insert(module, used.filter(|used| !related(module, used)).collect());
    }
    let reach = |from| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(next) = open.pop() {
            open.extend(edges[next].iter().copied().filter(|&used| seen.insert(used)));
        }
        seen
    };
    let reached: BTreeMap<_, _> = files.keys().map(|module| (module, reach(module))).collect();
    let mut circles = BTreeSet::new();
    for (module, seen) in &reached {
        if seen.contains(module) {
            let all = seen.iter().filter(|other| reached[*other].contains(module));
            circles.insert(all.map(|other| files[*other].path).collect::<Vec<_>>());
        }
    }
    // One of more than two files is as many.
    let told =
        |circle: Vec<&str>| vec![format!("circle of {}", circle.join(", ")); circle.len() - 1];
    circles.into_iter().flat_map(told).collect()
}

/// Whether one is inside the other.
fn related(a: &[String], b: &[String]) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

/// The paths in code, `use` statements aside.
fn spelled(code: &str) -> Vec<Path> {
    let inside = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let words = code.split(|c: char| !inside(c)).filter(|word| word.contains("::"));
    let path = |word: &str| -> Path {
        word.split("::").filter(|name| !name.is_empty()).map(String::from).collect()
    };
    words.map(path).filter(|path| path.len() > 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> = files.iter().map(|(path, text)| (*path, Source::read(text))).collect();
        circles(&files)
    }

    #[test]
    fn files_that_import_one_another_are_a_circle() {
        let a = ("c/src/a/mod.rs", "mod inner;\npub use inner::Inner;\nuse crate::b::{self, g};\n");
        let inner = ("c/src/a/inner.rs", "use super::b::g;\nfn f() { crate::d::h(); }\n");
        let b = ("c/src/b.rs", "// use crate::a::Inner;\npub fn g() {}\n");
        let d = ("c/src/d.rs", "pub(crate) use crate::a::Inner as\n    Other;\n");
        assert!(found(&[a, inner, b, ("c/src/d.rs", "")]).is_empty());
        assert_eq!(found(&[a, inner, b, d]), ["circle of c/src/a/inner.rs, c/src/d.rs"]);
        // Of three files it is two.
        let b = ("c/src/b.rs", "fn f() { super::d::h(); }\n");
        let inner = ("c/src/a/inner.rs", "use crate::b;\nfn f() { b::g(); }\n");
        let twice = "circle of c/src/a/inner.rs, c/src/b.rs, c/src/d.rs";
        assert_eq!(found(&[a, inner, b, d]), [twice; 2]);
    }

    #[test]
    fn a_module_and_those_inside_it_are_no_circle() {
        let outer = ("c/src/a.rs", "mod b;\nfn f() { b::g(); self::b::g(); }\nconst N: u8 = 1;\n");
        let inner = (
            "c/src/a/b.rs",
            "use super::{N, f as run};\n#[cfg(test)]\nmod tests { use crate::a; }\n",
        );
        assert!(found(&[outer, inner]).is_empty());
    }
}
