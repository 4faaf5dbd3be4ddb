//! Counts of private English: names of bindings, closures in place of small functions, tuples in place of argument structs, idioms of
//! comments, and comments that give a reason. Each count may only move towards its goal: whoever improves one writes the new
//! count here.

use super::sources;
use syn::visit::{self, Visit};

/// Pronouns, prepositions and participles that name nothing by themselves.
const PRONOUN_NAMES: [&str; 18] = [
    "of", "own", "at", "all", "before", "whole", "found", "made", "now", "known", "given", "asked",
    "rest", "here", "there", "beside", "most", "least",
];

/// Phrases of comments that a native reader parses twice.
const IDIOMS: [&str; 6] = [
    "that of",
    "those of",
    "asked for",
    "so many",
    "of its own",
    "of before",
];

/// Names of bindings and parameters that are a word of [`PRONOUN_NAMES`]. Goal: 3 of 1,000.
const PRONOUN_BINDINGS: usize = 8;
/// `let name = |..|`. Goal: 3 for 1,000 lines of code.
const LOCAL_CLOSURES: usize = 581;
/// Functions with a tuple pattern as a parameter. Goal: 10.
const TUPLE_PARAMETERS: usize = 8;
/// Phrases of [`IDIOMS`] in comments. Goal: 5 for 1,000 lines of comments.
const COMMENT_IDIOMS: usize = 17;
/// Lines of plain comments, which give reasons. Goal: 2 for 100 lines of code.
const REASONS: usize = 1_761;

#[derive(Debug, Default, PartialEq)]
struct Counts {
    bindings: usize,
    pronoun_bindings: usize,
    local_closures: usize,
    tuple_parameters: usize,
    comment_idioms: usize,
    code_lines: usize,
    doc_lines: usize,
    reason_lines: usize,
}

impl Counts {
    fn add_file(&mut self, file: &str, text: &str) {
        let syntax = syn::parse_file(text).unwrap_or_else(|why| panic!("src/{file}: {why}"));
        self.visit_file(&syntax);
        for line in text
            .lines()
            .map(str::trim_start)
            .filter(|line| !line.is_empty())
        {
            self.add_line(line);
        }
    }

    fn add_line(&mut self, line: &str) {
        let Some(comment) = line.strip_prefix("//") else {
            self.code_lines += 1;
            return;
        };
        if comment.starts_with(['/', '!']) {
            self.doc_lines += 1;
        } else {
            self.reason_lines += 1;
        }
        let comment = comment.to_lowercase();
        self.comment_idioms += IDIOMS
            .iter()
            .map(|idiom| comment.matches(idiom).count())
            .sum::<usize>();
    }
}

impl<'ast> Visit<'ast> for Counts {
    fn visit_local(&mut self, local: &'ast syn::Local) {
        let is_named = matches!(local.pat, syn::Pat::Ident(_));
        let is_closure = local
            .init
            .as_ref()
            .is_some_and(|init| matches!(*init.expr, syn::Expr::Closure(_)));
        self.local_closures += usize::from(is_named && is_closure);
        self.add_names(&local.pat);
        visit::visit_local(self, local);
    }

    fn visit_expr_closure(&mut self, closure: &'ast syn::ExprClosure) {
        closure
            .inputs
            .iter()
            .for_each(|parameter| self.add_names(parameter));
        visit::visit_expr_closure(self, closure);
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        let mut has_tuple = false;
        for input in &signature.inputs {
            if let syn::FnArg::Typed(parameter) = input {
                self.add_names(&parameter.pat);
                has_tuple |= matches!(*parameter.pat, syn::Pat::Tuple(_));
            }
        }
        self.tuple_parameters += usize::from(has_tuple);
        visit::visit_signature(self, signature);
    }
}

impl Counts {
    /// Adds the names that a pattern binds.
    fn add_names(&mut self, pattern: &syn::Pat) {
        let mut names = Names::default();
        names.visit_pat(pattern);
        self.bindings += names.0.len();
        self.pronoun_bindings += names
            .0
            .iter()
            .filter(|name| PRONOUN_NAMES.contains(&name.as_str()))
            .count();
    }
}

#[derive(Default)]
struct Names(Vec<String>);

impl<'ast> Visit<'ast> for Names {
    fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
        self.0.push(pattern.ident.to_string());
    }
}

#[test]
fn names_and_comments_are_counted() {
    let text = "// A reason, and that of another.\n/// So many: those of a beam.\nfn dose((of, gy): (u8, f32), found: f32) {\n    \
                let at = |own: f32| own + gy;\n    let [all, (rest, sum)] = read();\n    beams.map(|most| most.rest);\n}\n";
    let mut counts = Counts::default();
    counts.add_file("text", text);
    let expected = Counts {
        bindings: 9,
        pronoun_bindings: 7,
        local_closures: 1,
        tuple_parameters: 1,
        comment_idioms: 3,
        code_lines: 5,
        doc_lines: 1,
        reason_lines: 1,
    };
    assert_eq!(counts, expected);
}

#[test]
fn private_english_only_becomes_less() {
    let mut counts = Counts::default();
    sources()
        .iter()
        .for_each(|(file, text)| counts.add_file(file, text));
    let Counts {
        pronoun_bindings,
        local_closures,
        tuple_parameters,
        comment_idioms,
        reason_lines,
        ..
    } = counts;
    let found = [
        pronoun_bindings,
        local_closures,
        tuple_parameters,
        comment_idioms,
        reason_lines,
    ];
    let allowed = [
        PRONOUN_BINDINGS,
        LOCAL_CLOSURES,
        TUPLE_PARAMETERS,
        COMMENT_IDIOMS,
        REASONS,
    ];
    assert_eq!(
        found, allowed,
        "pronoun names, local closures, tuple parameters, idioms and reasons, counted and written down; a count that moved towards \
         its goal is written down, any other is mended: {counts:?}"
    );
}
