//! Structures by expression: what the program makes of drawn ones, `LeftParotid - (PTV70 + 5 mm)`.

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Greatest margin, mm.
const MOST_MM: f64 = 100.0;

/// Most characters of an expression, and most brackets within brackets: both are far beyond what is written by hand.
const MOST_CHARACTERS: usize = 1000;
const MOST_DEPTH: usize = 24;

/// A structure made of others.
#[derive(Clone, Debug, PartialEq)]
pub enum StructureExpression {
    Named(String),
    /// The drawn body, else the one found in the CT.
    Body,
    /// Both lungs, by their names.
    Lungs,
    /// The outermost part of the body.
    Skin {
        mm: f64,
    },
    Combined {
        left: Box<Self>,
        how: Combination,
        right: Box<Self>,
    },
    /// Grown by a margin, or shrunk by a negative one.
    Margin {
        inner: Box<Self>,
        mm: f64,
    },
    /// The volume from one distance to another outside of the structure.
    Ring {
        inner: Box<Self>,
        mm: [f64; 2],
    },
}

/// How two structures are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combination {
    Union,
    Difference,
    Intersection,
}

impl Combination {
    fn sign(self) -> char {
        match self {
            Self::Union => '+',
            Self::Difference => '-',
            Self::Intersection => '&',
        }
    }
}

/// Why words are no expression.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ExpressionError {
    #[error("'{0}' is expected at the end of '{1}'")]
    Expected(&'static str, String),
    #[error("'{0}' is left over: combine structures by +, - or &")]
    LeftOver(String),
    #[error("{0} mm is no margin: it must be above 0 and at most {MOST_MM} mm")]
    Margin(f64),
    #[error("a ring from {0} to {1} mm is none: it must end further out than it begins")]
    Ring(f64, f64),
    #[error("the expression is too long, or has too many brackets")]
    TooLong,
}

impl StructureExpression {
    /// Names of the structures in it, each once.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.add_names(&mut names);
        names
    }

    fn add_names<'a>(&'a self, names: &mut Vec<&'a str>) {
        match self {
            Self::Named(name) => {
                if !names.contains(&name.as_str()) {
                    names.push(name);
                }
            }
            Self::Body | Self::Lungs | Self::Skin { .. } => {}
            Self::Combined { left, right, .. } => {
                left.add_names(names);
                right.add_names(names);
            }
            Self::Margin { inner, .. } | Self::Ring { inner, .. } => inner.add_names(names),
        }
    }

    /// The same expression with other names.
    ///
    /// # Errors
    /// The first error of `rename`.
    pub fn renamed<E>(&self, rename: &dyn Fn(&str) -> Result<String, E>) -> Result<Self, E> {
        Ok(match self {
            Self::Named(name) => Self::Named(rename(name)?),
            Self::Body => Self::Body,
            Self::Lungs => Self::Lungs,
            Self::Skin { mm } => Self::Skin { mm: *mm },
            Self::Combined { left, how, right } => Self::Combined {
                left: Box::new(left.renamed(rename)?),
                how: *how,
                right: Box::new(right.renamed(rename)?),
            },
            Self::Margin { inner, mm } => Self::Margin {
                inner: Box::new(inner.renamed(rename)?),
                mm: *mm,
            },
            Self::Ring { inner, mm } => Self::Ring {
                inner: Box::new(inner.renamed(rename)?),
                mm: *mm,
            },
        })
    }
}

impl fmt::Display for StructureExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) if is_bare(name) => write!(f, "{name}"),
            Self::Named(name) => write!(f, "'{name}'"),
            Self::Body => write!(f, "body"),
            Self::Lungs => write!(f, "lungs"),
            Self::Skin { mm } => write!(f, "skin({mm} mm)"),
            Self::Combined { left, how, right } => write!(f, "({left} {} {right})", how.sign()),
            Self::Margin { inner, mm } if *mm < 0.0 => write!(f, "({inner} - {} mm)", -mm),
            Self::Margin { inner, mm } => write!(f, "({inner} + {mm} mm)"),
            Self::Ring {
                inner,
                mm: [from, to],
            } => write!(f, "ring({inner}, {from} mm, {to} mm)"),
        }
    }
}

/// Whether a name needs no quotes: letters, digits, `_` and `.`, no digit first, and no word of the language.
fn is_bare(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && name.chars().all(is_of_name)
        && !["body", "lungs", "skin", "ring"].contains(&name)
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.')
}

impl FromStr for StructureExpression {
    type Err = ExpressionError;

    fn from_str(text: &str) -> Result<Self, ExpressionError> {
        if text.chars().count() > MOST_CHARACTERS {
            return Err(ExpressionError::TooLong);
        }
        let mut reader = Reader {
            text,
            rest: text,
            depth: 0,
        };
        let expression = reader.sum()?;
        match reader.peek() {
            None => Ok(expression),
            Some(_) => Err(ExpressionError::LeftOver(reader.rest.to_owned())),
        }
    }
}

/// Reads an expression from left to right.
struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
    depth: usize,
}

impl Reader<'_> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    /// Whether a character comes next, which is then read.
    fn takes(&mut self, wanted: char) -> bool {
        let is_next = self.peek() == Some(wanted);
        if is_next {
            self.rest = &self.rest[wanted.len_utf8()..];
        }
        is_next
    }

    fn expected(&self, what: &'static str) -> ExpressionError {
        let read = &self.text[..self.text.len() - self.rest.len()];
        ExpressionError::Expected(what, read.trim().to_owned())
    }

    fn expect(&mut self, wanted: char, what: &'static str) -> Result<(), ExpressionError> {
        match self.takes(wanted) {
            true => Ok(()),
            false => Err(self.expected(what)),
        }
    }

    /// Unions, differences and margins, from the left.
    fn sum(&mut self) -> Result<StructureExpression, ExpressionError> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err(ExpressionError::TooLong);
        }
        let mut left = self.product()?;
        loop {
            let how = if self.takes('+') {
                Combination::Union
            } else if self.takes('-') {
                Combination::Difference
            } else {
                self.depth -= 1;
                return Ok(left);
            };
            left = if self.peek().is_some_and(|c| c.is_ascii_digit() || c == '.') {
                let mm = self.positive_mm()?;
                let is_grown = how == Combination::Union;
                StructureExpression::Margin {
                    inner: Box::new(left),
                    mm: if is_grown { mm } else { -mm },
                }
            } else {
                StructureExpression::Combined {
                    left: Box::new(left),
                    how,
                    right: Box::new(self.product()?),
                }
            };
        }
    }

    /// Intersections, which bind more tightly.
    fn product(&mut self) -> Result<StructureExpression, ExpressionError> {
        let mut left = self.term()?;
        while self.takes('&') {
            left = StructureExpression::Combined {
                left: Box::new(left),
                how: Combination::Intersection,
                right: Box::new(self.term()?),
            };
        }
        Ok(left)
    }

    fn term(&mut self) -> Result<StructureExpression, ExpressionError> {
        if self.takes('(') {
            let inner = self.sum()?;
            self.expect(')', ")")?;
            return Ok(inner);
        }
        if self.takes('\'') {
            let end = self.rest.find('\'').ok_or_else(|| self.expected("'"))?;
            let name = self.rest[..end].trim().to_owned();
            self.rest = &self.rest[end + 1..];
            return match name.is_empty() {
                true => Err(self.expected("the name of a structure")),
                false => Ok(StructureExpression::Named(name)),
            };
        }
        self.peek();
        let end = self.rest.find(|c| !is_of_name(c));
        let word = &self.rest[..end.unwrap_or(self.rest.len())];
        if word.is_empty() || word.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(self.expected("the name of a structure"));
        }
        self.rest = &self.rest[word.len()..];
        match word {
            "body" => Ok(StructureExpression::Body),
            "lungs" => Ok(StructureExpression::Lungs),
            "skin" => {
                self.expect('(', "(")?;
                let mm = self.positive_mm()?;
                self.expect(')', ")")?;
                Ok(StructureExpression::Skin { mm })
            }
            "ring" => self.ring(),
            name => Ok(StructureExpression::Named(name.to_owned())),
        }
    }

    /// `(A, 3 mm, 10 mm)`; the unit of the first distance may be left out.
    fn ring(&mut self) -> Result<StructureExpression, ExpressionError> {
        self.expect('(', "(")?;
        let inner = Box::new(self.sum()?);
        self.expect(',', ",")?;
        let from = self.number()?;
        self.takes_mm();
        self.expect(',', ",")?;
        let to = self.number()?;
        self.takes_mm();
        self.expect(')', ")")?;
        if to > MOST_MM {
            return Err(ExpressionError::Margin(to));
        }
        if from >= to {
            return Err(ExpressionError::Ring(from, to));
        }
        Ok(StructureExpression::Ring {
            inner,
            mm: [from, to],
        })
    }

    fn takes_mm(&mut self) -> bool {
        self.peek();
        let after = self.rest.strip_prefix("mm");
        let is_next = after.is_some_and(|after| !after.starts_with(is_of_name));
        self.rest = after.filter(|_| is_next).unwrap_or(self.rest);
        is_next
    }

    fn number(&mut self) -> Result<f64, ExpressionError> {
        self.peek();
        let end = self.rest.find(|c: char| !c.is_ascii_digit() && c != '.');
        let word = &self.rest[..end.unwrap_or(self.rest.len())];
        let number = word
            .parse()
            .map_err(|_| self.expected("a distance in mm"))?;
        self.rest = &self.rest[word.len()..];
        Ok(number)
    }

    fn positive_mm(&mut self) -> Result<f64, ExpressionError> {
        let mm = self.number()?;
        if !self.takes_mm() {
            return Err(self.expected("mm"));
        }
        match mm > 0.0 && mm <= MOST_MM {
            true => Ok(mm),
            false => Err(ExpressionError::Margin(mm)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<StructureExpression, ExpressionError> {
        text.parse()
    }

    /// Operators bind from the left, intersections first; margins are numbers with their unit.
    #[test]
    fn expressions_are_read_as_they_are_written() {
        for (text, want) in [
            ("A", "A"),
            ("A - B - C", "((A - B) - C)"),
            ("A - (B + C)", "(A - (B + C))"),
            ("A + B & C", "(A + (B & C))"),
            ("PTV + 5 mm", "(PTV + 5 mm)"),
            ("'PTV High'-3mm", "('PTV High' - 3 mm)"),
            ("body - (PTV + 20 mm)", "(body - (PTV + 20 mm))"),
            (
                "ring(PTV, 3, 10 mm) & body",
                "(ring(PTV, 3 mm, 10 mm) & body)",
            ),
            ("PTV - skin(4 mm)", "(PTV - skin(4 mm))"),
            ("lungs - GTV", "(lungs - GTV)"),
            ("Gehirn.links_1 + 2.5 mm", "(Gehirn.links_1 + 2.5 mm)"),
            ("'5 Gy' + '/'", "('5 Gy' + '/')"),
        ] {
            let expression = read(text).unwrap_or_else(|why| panic!("{text}: {why}"));
            assert_eq!(expression.to_string(), want);
            assert_eq!(read(want), Ok(expression), "{want}");
        }
    }

    #[test]
    fn words_that_are_no_expression_say_where_they_end() {
        for (text, want) in [
            ("", "'the name of a structure' is expected at the end of ''"),
            (
                "A -",
                "'the name of a structure' is expected at the end of 'A -'",
            ),
            ("A B", "'B' is left over: combine structures by +, - or &"),
            ("(A + B", "')' is expected at the end of '(A + B'"),
            ("A + 5", "'mm' is expected at the end of 'A + 5'"),
            ("A + 5 mmm", "'mm' is expected at the end of 'A + 5'"),
            ("'A", "''' is expected at the end of '''"),
            (
                "''",
                "'the name of a structure' is expected at the end of ''''",
            ),
            (
                "A + 0 mm",
                "0 mm is no margin: it must be above 0 and at most 100 mm",
            ),
            (
                "A - 500 mm",
                "500 mm is no margin: it must be above 0 and at most 100 mm",
            ),
            (
                "ring(A, 10, 3 mm)",
                "a ring from 10 to 3 mm is none: it must end further out than it begins",
            ),
            (
                "ring(A, 0, 0 mm)",
                "a ring from 0 to 0 mm is none: it must end further out than it begins",
            ),
        ] {
            assert_eq!(
                read(text).map_err(|why| why.to_string()),
                Err(want.to_owned())
            );
        }
        let nested = format!("{}A{}", "(".repeat(300), ")".repeat(300));
        assert_eq!(read(&nested), Err(ExpressionError::TooLong));
        assert_eq!(read(&"A+".repeat(600)), Err(ExpressionError::TooLong));
    }

    #[test]
    fn names_are_listed_once_and_renamed_everywhere() {
        let expression = read("A - (B + ring(A, 1, 2 mm)) - body").expect("it is one");
        assert_eq!(expression.names(), ["A", "B"]);
        let renamed = expression
            .renamed(&|name| Ok::<_, ()>(format!("{name} 1")))
            .expect("it never fails");
        assert_eq!(renamed.names(), ["A 1", "B 1"]);
    }
}
