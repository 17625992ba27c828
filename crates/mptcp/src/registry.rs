//! Enums whose variants have names: the registries of algorithms and the choices of MPTCP-rec.

use core::fmt;

/// The name is not registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownName;

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown name")
    }
}

impl core::error::Error for UnknownName {}

/// Declares an enum from rows of `Variant => "name", "summary";`.
///
/// The summary is the variant's documentation, and the text that scenario files, their schema and
/// their documentation show for it. `ALL` has the order of the rows.
macro_rules! named_enum {
    (
        $(#[$attribute:meta])*
        $kind:ident {
            $($(#[$variant_attribute:meta])* $variant:ident => $name:literal, $summary:literal;)+
        }
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub enum $kind {
            $(#[doc = $summary] $(#[$variant_attribute])* $variant,)+
        }

        impl $kind {
            const COUNT: usize = [$($name),+].len();
            /// All variants, in the order in which help texts list them.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$variant),+];

            /// Returns the name in scenarios.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// Returns one line of documentation, which starts with a lower-case letter.
            pub const fn summary(self) -> &'static str {
                match self { $(Self::$variant => $summary),+ }
            }
        }

        impl core::fmt::Display for $kind {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl core::str::FromStr for $kind {
            type Err = $crate::UnknownName;
            fn from_str(name: &str) -> Result<Self, Self::Err> {
                Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or($crate::UnknownName)
            }
        }
    };
}
pub(crate) use named_enum;
