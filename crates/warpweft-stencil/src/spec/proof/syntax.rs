//! The text of an element function as a tree: as much of C++ as translations use that only compute and compare. What is
//! proved of it is not here.

use std::iter::Peekable;
use std::vec::IntoIter;

use crate::spec::stage::Stage;
use warpweft_core::element::Unit;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expr {
    Name(String),
    /// A literal, as it is written.
    Number(String),
    /// A field of the cell at an offset.
    Tap(usize, Vec<isize>),
    /// The new value of a field.
    Next(usize),
    /// A function with what stands between `<` and `>`.
    Call(String, String, Vec<Expr>),
    List(Vec<Expr>),
    Compare(String, Box<[Expr; 2]>),
    Choice(Box<[Expr; 3]>),
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Statement {
    /// A variable, which may have no value yet.
    Let(String, Option<Expr>),
    Assign(Expr, Expr),
    Block(Vec<Statement>),
    If(Expr, Vec<Statement>, Vec<Statement>),
    Return(Option<Expr>),
}

/// An element function.
pub(crate) struct Functor {
    /// The whole text, with the functions that it calls.
    pub text: String,
    /// Its parameters' names and values.
    pub members: Vec<(String, Expr)>,
    pub body: Vec<Statement>,
}

impl Functor {
    /// That of a stage without tables.
    ///
    /// # Errors
    /// What of the text can't be read, to follow "it".
    pub fn of(stage: &dyn Stage) -> Result<Self, String> {
        let unreadable = |piece: String| format!("has `{piece}` in its translation");
        let mut unit = Unit::new();
        let name = stage.cuda(&mut unit);
        let parameters = stage.parameters_text(&mut unit);
        let text = unit.source();
        let found = text.split_once(&format!("struct {name} {{"));
        let found = found.and_then(|(_, functor)| functor.split_once("template<class Now"));
        let (members, rest) = found.ok_or("has no translation of the usual form")?;
        let (_, body) = rest.split_once("const {").ok_or("has no body")?;
        let names = members.split(';').filter_map(|member| member.split_whitespace().last());
        let values = Reader::of(&parameters).all().map_err(unreadable)?;
        let members = names.map(String::from).zip(values).collect();
        let body = Reader::of(body).statements().map_err(unreadable)?;
        Ok(Self { text, members, body })
    }
}

/// A piece of text.
#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Number(String),
    Sign(String),
}

impl Token {
    fn text(&self) -> &str {
        let (Self::Word(text) | Self::Number(text) | Self::Sign(text)) = self;
        text
    }
}

fn tokens(text: &str) -> Vec<Token> {
    let letters: Vec<char> = text.chars().collect();
    let (mut all, mut at) = (Vec::new(), 0);
    while let Some(&letter) = letters.get(at) {
        let begin = at;
        at += 1;
        let token: fn(String) -> Token = match letter {
            space if space.is_whitespace() => continue,
            '0'..='9' => {
                let hexadecimal = letters.get(at) == Some(&'x');
                while letters.get(at).is_some_and(|next| match next {
                    '+' | '-' => letters[at - 1] == if hexadecimal { 'p' } else { 'e' },
                    next => next.is_ascii_alphanumeric() || *next == '.',
                }) {
                    at += 1;
                }
                Token::Number
            }
            start if start.is_ascii_alphabetic() || start == '_' => {
                while let Some(&next) = letters.get(at) {
                    let path = next == ':' && letters.get(at + 1) == Some(&':');
                    if !path && !next.is_ascii_alphanumeric() && next != '_' {
                        break;
                    }
                    at += if path { 2 } else { 1 };
                }
                Token::Word
            }
            '=' | '!' | '<' | '>' if letters.get(at) == Some(&'=') => {
                at += 1;
                Token::Sign
            }
            _ => Token::Sign,
        };
        all.push(token(letters[begin..at].iter().collect()));
    }
    all
}

/// Reads one text; an error is the piece that it can't read.
pub(crate) struct Reader {
    tokens: Peekable<IntoIter<Token>>,
}

type Read<T> = Result<T, String>;

impl Reader {
    pub fn of(text: &str) -> Self {
        Self { tokens: tokens(text).into_iter().peekable() }
    }

    fn sees(&mut self, sign: &str) -> bool {
        self.tokens.peek().is_some_and(|token| token.text() == sign)
    }

    fn takes(&mut self, sign: &str) -> bool {
        self.sees(sign) && self.tokens.next().is_some()
    }

    fn next(&mut self) -> Read<Token> {
        self.tokens.next().ok_or_else(|| "its end".into())
    }

    fn needs(&mut self, sign: &str) -> Read<()> {
        match self.next()? {
            token if token.text() == sign => Ok(()),
            token => Err(token.text().into()),
        }
    }

    fn word(&mut self) -> Read<String> {
        match self.next()? {
            Token::Word(word) => Ok(word),
            token => Err(token.text().into()),
        }
    }

    /// Statements up to the brace that ends them.
    pub fn statements(&mut self) -> Read<Vec<Statement>> {
        let mut all = Vec::new();
        while !self.takes("}") {
            all.push(self.statement()?);
        }
        Ok(all)
    }

    fn statement(&mut self) -> Read<Statement> {
        if self.takes("{") {
            return self.statements().map(Statement::Block);
        }
        if self.takes("return") {
            let value = if self.sees(";") { None } else { Some(self.expr()?) };
            self.needs(";")?;
            return Ok(Statement::Return(value));
        }
        if self.takes("if") {
            self.needs("(")?;
            let condition = self.within(")")?;
            self.needs("{")?;
            let then = self.statements()?;
            let mut other = Vec::new();
            if self.takes("else") {
                other = match self.sees("if") {
                    true => vec![self.statement()?],
                    false => self.needs("{").and_then(|()| self.statements())?,
                };
            }
            return Ok(Statement::If(condition, then, other));
        }
        let constant = self.takes("const");
        let first = self.expr()?;
        if !constant && self.takes("=") {
            let value = self.expr()?;
            self.needs(";")?;
            return Ok(Statement::Assign(first, value));
        }
        // What was read is a type.
        let name = self.word()?;
        let value = if self.takes("=") { Some(self.expr()?) } else { None };
        self.needs(";")?;
        Ok(Statement::Let(name, value))
    }

    /// Expressions with commas between them up to `end`.
    pub fn list(&mut self, end: &str) -> Read<Vec<Expr>> {
        let mut all = Vec::new();
        while !self.takes(end) {
            all.push(self.expr()?);
            if !self.takes(",") && !self.sees(end) {
                return Err(self.next()?.text().into());
            }
        }
        Ok(all)
    }

    /// All that is left, as a list.
    pub fn all(mut self) -> Read<Vec<Expr>> {
        let mut all = Vec::new();
        while self.tokens.peek().is_some() {
            all.push(self.expr()?);
            if self.tokens.peek().is_some() {
                self.needs(",")?;
            }
        }
        Ok(all)
    }

    /// One expression, a comparison or a choice up to `end`.
    fn within(&mut self, end: &str) -> Read<Expr> {
        let mut value = self.expr()?;
        for sign in ["==", "!=", "<=", ">=", "<", ">"] {
            if self.takes(sign) {
                value = Expr::Compare(sign.into(), Box::new([value, self.expr()?]));
                break;
            }
        }
        for (sign, name) in [("&", "&&"), ("|", "||")] {
            if self.takes(sign) {
                self.needs(sign)?;
                value = Expr::Call(name.into(), String::new(), vec![value, self.expr()?]);
            }
        }
        if self.takes("?") {
            let first = self.expr()?;
            self.needs(":")?;
            value = Expr::Choice(Box::new([value, first, self.expr()?]));
        }
        self.needs(end)?;
        Ok(value)
    }

    fn expr(&mut self) -> Read<Expr> {
        match self.next()? {
            Token::Number(number) => Ok(Expr::Number(number)),
            Token::Sign(sign) if sign == "(" => self.within(")"),
            Token::Sign(sign) if sign == "-" => match self.next()? {
                Token::Number(number) => Ok(Expr::Number(format!("-{number}"))),
                token => Err(token.text().into()),
            },
            Token::Word(word) if word == "now" || word == "next" => self.cell(&word),
            Token::Word(word) => self.named(word),
            token => Err(token.text().into()),
        }
    }

    /// `now.template at<field, offset, ..>()` or `next.template ref<field>()`.
    fn cell(&mut self, whose: &str) -> Read<Expr> {
        self.needs(".")?;
        self.needs("template")?;
        let function = self.word()?;
        self.needs("<")?;
        let mut numbers = Vec::new();
        while !self.takes(">") {
            let negative = self.takes("-");
            let number = self.next()?;
            let value: isize = number.text().parse().map_err(|_| number.text().to_string())?;
            numbers.push(if negative { -value } else { value });
            self.takes(",");
        }
        self.needs("(")?;
        self.needs(")")?;
        let field = numbers.first().copied().and_then(|field| usize::try_from(field).ok());
        match (whose, function.as_str(), field) {
            ("now", "at", Some(field)) => Ok(Expr::Tap(field, numbers[1..].to_vec())),
            ("next", "ref", Some(field)) => Ok(Expr::Next(field)),
            _ => Err(format!("{whose}.{function}")),
        }
    }

    /// What begins with a name: a variable, a type, a call, or a list with its type.
    fn named(&mut self, name: String) -> Read<Expr> {
        let mut of = String::new();
        let generic = ["ww::cast", "ww::array", "ww::repeat"].contains(&name.as_str());
        if generic && self.takes("<") {
            let mut depth = 1;
            loop {
                let token = self.next()?;
                depth += i32::from(token.text() == "<") - i32::from(token.text() == ">");
                if depth == 0 {
                    break;
                }
                of.push_str(token.text());
            }
        }
        if self.takes("(") {
            return Ok(Expr::Call(name, of, self.list(")")?));
        }
        if name == "ww::array" && self.takes("{") {
            self.needs("{")?;
            let items = self.list("}")?;
            self.needs("}")?;
            return Ok(Expr::List(items));
        }
        Ok(Expr::Name(name))
    }
}
