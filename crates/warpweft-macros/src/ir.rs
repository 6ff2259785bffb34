//! The body of an element function, neutral to the language it is emitted in.
//!
//! No types: whatever an emitter must name is a [`Hole`], text that the generated Rust fills in at
//! run time, when rustc has inferred what the source does not spell.

/// Number of a Rust expression of type `String`, evaluated when the text is put together.
pub type Hole = usize;

/// A unique name of a local variable.
pub type Name = String;

/// A member of a struct or tuple.
#[derive(Clone, Debug)]
pub enum Member {
    Named(String),
    Index(u32),
}

/// Something the pattern provides, e.g. a neighbour's value.
#[derive(Clone, Debug)]
pub enum Input {
    /// The value of a field at a constant offset from the cell.
    Tap { field: Hole, offset: Vec<i128> },
    /// The cell's new value of a field; a place.
    Next { field: Hole },
    /// A cell computed earlier, at a constant vector.
    Earlier { vector: Vec<i128> },
    /// What a cell at a constant vector held before.
    Old { vector: Vec<i128> },
    /// A call that others may run, whose value goes to the `target`.
    Spawn { callee: Hole, how: How, target: Option<Name>, arguments: Vec<Expr> },
}

/// How the value of a spawned call arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    Store,
    Add,
    Or,
    Xor,
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnOp {
    Neg,
    Not,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    BitAnd,
    BitOr,
    BitXor,
    Shl,
    Shr,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// An expression. Those marked *place* can be assigned.
#[derive(Clone, Debug)]
pub enum Expr {
    /// Place.
    Local(Name),
    /// Place, if [`Input::Next`].
    Input(Input),
    /// A literal or constant.
    Value(Hole),
    Bool(bool),
    Unit,
    Unary(UnOp, Box<Expr>),
    /// `sites` are the faults the operation may raise (division).
    Binary {
        op: BinOp,
        left: Box<Expr>,
        right: Box<Expr>,
        sites: Vec<Hole>,
    },
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Cast {
        to: Hole,
        value: Box<Expr>,
    },
    /// A function of the device prelude, by Rust's name of the method.
    Method {
        name: String,
        arguments: Vec<Expr>,
        sites: Vec<Hole>,
    },
    /// A place passed by reference.
    Reference(Box<Expr>),
    /// A `#[device]` function. `effects`: it may write through a reference.
    Call {
        function: Hole,
        arguments: Vec<Expr>,
        effects: bool,
    },
    Tuple(Vec<Expr>),
    Array(Vec<Expr>),
    Repeat {
        array: Hole,
        value: Box<Expr>,
    },
    Struct {
        name: Hole,
        members: Vec<(Member, Expr)>,
        base: Option<Box<Expr>>,
    },
    /// Place, if the struct is.
    Field(Box<Expr>, Member),
    /// Place, if the array is.
    Index {
        array: Box<Expr>,
        index: Box<Expr>,
        site: Hole,
    },
    Assign {
        place: Box<Expr>,
        value: Box<Expr>,
    },
    AssignOp {
        op: BinOp,
        place: Box<Expr>,
        value: Box<Expr>,
        sites: Vec<Hole>,
    },
    Block(Block),
    /// `value` names the type when the value is wanted; likewise below.
    If {
        value: Option<Hole>,
        condition: Box<Expr>,
        then: Block,
        otherwise: Option<Box<Expr>>,
    },
    Match {
        value: Option<Hole>,
        scrutinee: Box<Expr>,
        arms: Vec<Arm>,
    },
    Loop {
        value: Option<Hole>,
        id: usize,
        body: Block,
    },
    While {
        id: usize,
        condition: Box<Expr>,
        body: Block,
    },
    For {
        id: usize,
        variable: Option<Name>,
        number: Hole,
        range: Box<Range>,
        body: Block,
    },
    /// A condition that must hold, or the fault is raised.
    Assert {
        condition: Box<Expr>,
        site: Hole,
    },
    Matches {
        scrutinee: Box<Expr>,
        pattern: Pattern,
        guard: Option<Box<Expr>>,
    },
    Return(Option<Box<Expr>>),
    Break {
        id: usize,
        value: Option<Box<Expr>>,
    },
    Continue {
        id: usize,
    },
}

/// What a `for` runs over.
#[derive(Clone, Debug)]
pub struct Range {
    pub low: Expr,
    pub high: Expr,
    pub inclusive: bool,
    pub reversed: bool,
    /// Step and the fault of a zero step.
    pub step: Option<(Expr, Hole)>,
    /// Whether it is known to be short: at most [`Range::FEW`] numbers.
    pub few: bool,
}

impl Range {
    /// The length up to which a loop ends soon enough whatever its body computes.
    pub const FEW: u128 = 4096;
}

#[derive(Clone, Debug, Default)]
pub struct Block {
    pub statements: Vec<Statement>,
    pub tail: Option<Box<Expr>>,
}

#[derive(Clone, Debug)]
pub enum Statement {
    Let(Pattern, Expr),
    Expr(Expr),
}

#[derive(Clone, Debug)]
pub struct Arm {
    pub pattern: Pattern,
    pub guard: Option<Expr>,
    pub body: Expr,
}

#[derive(Clone, Debug)]
pub enum Pattern {
    Any,
    Bind { name: Name, mutable: bool, inner: Option<Box<Pattern>> },
    Bool(bool),
    Value(PatternValue),
    Range { low: Option<PatternValue>, high: Option<PatternValue>, inclusive: bool },
    Members(Vec<(Member, Pattern)>),
    Or(Vec<Pattern>),
}

#[derive(Clone, Debug)]
pub enum PatternValue {
    Int(i128),
    Const(Hole),
    Local(Name),
}

impl Pattern {
    /// Whether every value matches.
    pub fn irrefutable(&self) -> bool {
        match self {
            Self::Any => true,
            Self::Bind { inner, .. } => inner.as_ref().is_none_or(|inner| inner.irrefutable()),
            Self::Members(members) => members.iter().all(|(_, inner)| inner.irrefutable()),
            Self::Bool(_) | Self::Value(_) | Self::Range { .. } => false,
            Self::Or(options) => options.iter().any(Self::irrefutable),
        }
    }

    /// Whether it names a variable.
    pub fn binds(&self) -> bool {
        match self {
            Self::Bind { .. } => true,
            Self::Members(members) => members.iter().any(|(_, inner)| inner.binds()),
            Self::Or(options) => options.iter().any(Self::binds),
            _ => false,
        }
    }
}
