//! `--boundary periodic` or face by face, `--boundary neumann,z=periodic,y-low=dirichlet:1`.

use std::fmt;
use std::str::FromStr;

use warpweft::grid::{AXES, Axes};
use warpweft::prelude::*;

/// Boundaries in the given order; later ones win.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundaryChoice(Vec<Item>);

#[derive(Clone, Debug, PartialEq)]
struct Item {
    /// Axis counted from the fastest and face; all when `None`.
    place: Option<(usize, Option<Face>)>,
    boundary: Boundary,
}

impl FromStr for BoundaryChoice {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let items = text.split(',').map(str::trim).map(|item| match item.split_once('=') {
            Some((place, kind)) if kind_of(place).is_err() => {
                Ok(Item { place: Some(place_of(place)?), boundary: kind_of(kind)? })
            }
            _ => Ok(Item { place: None, boundary: kind_of(item)? }),
        });
        items.collect::<Result<_, _>>().map(Self)
    }
}

/// `z`, `z-low` or `z-high`.
fn place_of(text: &str) -> Result<(usize, Option<Face>), String> {
    let (name, face) = match text.split_once('-') {
        None => (text, None),
        Some((name, "low")) => (name, Some(Face::Low)),
        Some((name, "high")) => (name, Some(Face::High)),
        Some((_, face)) => return Err(format!("no face '{face}'; low or high")),
    };
    let axis = AXES.iter().position(|known| *known == name);
    axis.map(|axis| (axis, face)).ok_or_else(|| format!("no axis '{name}'; x, y, z or w"))
}

/// `periodic`, `neumann`, `mirror`, `dirichlet` or `dirichlet` with a value after `:` or `=`.
fn kind_of(text: &str) -> Result<Boundary, String> {
    let (name, value) = match text.split_once(['=', ':']) {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    match (name, value) {
        ("periodic", None) => Ok(Boundary::Periodic),
        ("neumann", None) => Ok(Boundary::Neumann),
        ("mirror", None) => Ok(Boundary::Mirror),
        ("dirichlet", None) => Ok(Boundary::Dirichlet(0.0)),
        ("dirichlet", Some(value)) => match value.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Boundary::Dirichlet(value)),
            Ok(value) => Err(format!("the dirichlet value {value} is not finite")),
            Err(_) => Err(format!(
                "'{value}' is not a value for a dirichlet boundary; write e.g. dirichlet:1.5"
            )),
        },
        (name, Some(_)) if kind_of(name).is_ok() => {
            Err(format!("{name} takes no value; dirichlet:VALUE holds cells outside at a value"))
        }
        (place, Some(kind)) if place_of(place).is_ok() && kind_of(kind).is_ok() => {
            Err(format!("no boundary '{text}'; write {place}={kind}"))
        }
        _ => Err(format!(
            "'{text}' is not a boundary; write periodic, neumann, mirror, dirichlet, dirichlet:VALUE or dirichlet=VALUE"
        )),
    }
}

impl BoundaryChoice {
    /// The boundary of every face.
    ///
    /// # Errors
    /// An axis is named that `dims` dimensions don't have.
    pub fn faces(&self, dims: usize) -> Result<Axes<[Boundary; 2]>> {
        let mut faces = Axes::filled(dims, [Boundary::Periodic; 2]);
        for item in &self.0 {
            match item.place {
                None => faces = Axes::filled(dims, [item.boundary; 2]),
                Some((axis, face)) => {
                    let Some(d) = (dims - 1).checked_sub(axis) else {
                        return Err(Error::spec(
                            format!(
                                "--boundary names axis {}, but there are only {dims} dimensions",
                                AXES[axis]
                            ),
                            format!("the axes are {}", AXES[..dims].join(", ")),
                        ));
                    };
                    match face {
                        None => faces[d] = [item.boundary; 2],
                        Some(face) => faces[d][face as usize] = item.boundary,
                    }
                }
            }
        }
        Ok(faces)
    }
}

impl fmt::Display for BoundaryChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, item) in self.0.iter().enumerate() {
            if i > 0 {
                write!(f, ",")?;
            }
            if let Some((axis, face)) = item.place {
                write!(f, "{}", AXES[axis])?;
                match face {
                    None => write!(f, "=")?,
                    Some(Face::Low) => write!(f, "-low=")?,
                    Some(Face::High) => write!(f, "-high=")?,
                }
            }
            write!(f, "{}", item.boundary)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Boundary::{Dirichlet, Mirror, Neumann, Periodic};

    fn faces(text: &str) -> [[Boundary; 2]; 3] {
        text.parse::<BoundaryChoice>().unwrap().faces(3).unwrap().array()
    }

    #[test]
    fn faces_are_named_by_axis_and_end_and_later_ones_win() {
        assert_eq!(faces("mirror"), [[Mirror; 2]; 3]);
        assert_eq!(faces("dirichlet=2.5"), [[Dirichlet(2.5); 2]; 3]);
        assert_eq!(
            faces("neumann,z=periodic,y-low=dirichlet:1,x-high=dirichlet=-2"),
            [[Periodic; 2], [Dirichlet(1.0), Neumann], [Neumann, Dirichlet(-2.0)]]
        );
    }

    #[test]
    fn what_is_shown_reads_back_the_same() {
        let choice: BoundaryChoice = "neumann,z-low=dirichlet:0.5,x=periodic".parse().unwrap();
        assert_eq!(choice.to_string().parse(), Ok(choice));
    }

    #[test]
    fn what_is_no_boundary_is_named() {
        for (text, expect) in [
            ("open", "'open' is not a boundary"),
            ("open=2", "no axis 'open'"),
            ("neumann=2", "neumann takes no value; dirichlet:VALUE holds"),
            ("x=mirror:1", "mirror takes no value"),
            ("z:periodic", "no boundary 'z:periodic'; write z=periodic"),
            ("y-low:dirichlet:1", "write y-low=dirichlet:1"),
            ("q=periodic", "no axis 'q'"),
            ("z-left=periodic", "no face 'left'"),
            ("dirichlet=warm", "'warm' is not a value"),
            ("dirichlet:nan", "the dirichlet value NaN is not finite"),
            ("neumann, x=dirichlet:inf", "the dirichlet value inf is not finite"),
            ("z=", "'' is not a boundary"),
        ] {
            let refusal = text.parse::<BoundaryChoice>().unwrap_err();
            assert!(refusal.contains(expect), "{refusal}");
        }
        let choice: BoundaryChoice = "w=neumann".parse().unwrap();
        assert!(
            choice
                .faces(2)
                .unwrap_err()
                .to_string()
                .contains("axis w, but there are only 2 dimensions")
        );
    }
}
