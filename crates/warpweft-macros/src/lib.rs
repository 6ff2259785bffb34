//! The attributes of Warpweft.
