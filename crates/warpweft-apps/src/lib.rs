//! Applications of the papers Warpweft merges, each with an independent oracle.
