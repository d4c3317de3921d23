//! Tables: values that are used as slices, whether they lie in memory or in a mapped file.
//!
//! [`tables!`] declares a table once. From the declaration come the struct that is written, its *view* (plain slices
//! that borrow from the struct or from the file), both ways to the view, the bytes of the table, and the checks of
//! lengths, offsets and indices that need no other table.

use rkyv::{Archive, Archived};

use super::cast::native;
use super::check::Check;

/// A value that is used as slices, in memory and in a file alike.
pub trait Table: Archive {
    /// The slices; a number or a word is a copy.
    type View<'a>;

    /// The slices of a value in memory.
    fn view(&self) -> Self::View<'_>;

    /// The slices of a value in a file.
    fn archived(archived: &Archived<Self>) -> Self::View<'_>;

    /// Bytes of the slices; those of single numbers do not count.
    fn bytes(view: &Self::View<'_>) -> usize {
        let _ = view;
        0
    }

    /// Lengths, offsets and indices, as far as they need no other table.
    ///
    /// # Errors
    /// The first field that is wrong.
    fn check(view: &Self::View<'_>) -> Check {
        let _ = view;
        Ok(())
    }
}

/// Counts along x, y and z.
pub type Counts = [u32; 3];

/// Numbers along x, y and z.
pub type Vector = [f64; 3];

/// A table of which a file can hold several, or one or none.
pub trait Record: Table {}

/// Vectors of numbers are slices.
macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Table for Vec<$number> {
            type View<'a> = &'a [$number];

            fn view(&self) -> &[$number] {
                self
            }

            fn archived(archived: &Archived<Self>) -> &[$number] {
                native(archived)
            }

            fn bytes(view: &&[$number]) -> usize {
                size_of_val(*view)
            }
        }
    )*};
}
numbers!(u8, u16, u32, u64, f32, f64);

impl Table for bool {
    type View<'a> = bool;

    fn view(&self) -> bool {
        *self
    }

    fn archived(archived: &bool) -> bool {
        *archived
    }
}

/// A count.
impl Table for u32 {
    type View<'a> = usize;

    fn view(&self) -> usize {
        *self as usize
    }

    fn archived(archived: &Archived<u32>) -> usize {
        archived.to_native() as usize
    }
}

impl Table for u64 {
    type View<'a> = u64;

    fn view(&self) -> u64 {
        *self
    }

    fn archived(archived: &Archived<u64>) -> u64 {
        archived.to_native()
    }
}

impl Table for f64 {
    type View<'a> = f64;

    fn view(&self) -> f64 {
        *self
    }

    fn archived(archived: &Archived<f64>) -> f64 {
        archived.to_native()
    }
}

impl Table for [u32; 3] {
    type View<'a> = [u32; 3];

    fn view(&self) -> [u32; 3] {
        *self
    }

    fn archived(archived: &Archived<Self>) -> [u32; 3] {
        archived.map(|n| n.to_native())
    }
}

impl Table for [f64; 3] {
    type View<'a> = [f64; 3];

    fn view(&self) -> [f64; 3] {
        *self
    }

    fn archived(archived: &Archived<Self>) -> [f64; 3] {
        archived.map(|x| x.to_native())
    }
}

impl Table for String {
    type View<'a> = &'a str;

    fn view(&self) -> &str {
        self
    }

    fn archived(archived: &Archived<String>) -> &str {
        archived
    }
}
impl Record for String {}

impl<T: Record> Table for Vec<T> {
    type View<'a> = Vec<T::View<'a>>;

    fn view(&self) -> Vec<T::View<'_>> {
        self.iter().map(T::view).collect()
    }

    fn archived(archived: &Archived<Self>) -> Vec<T::View<'_>> {
        archived.iter().map(T::archived).collect()
    }

    fn bytes(view: &Vec<T::View<'_>>) -> usize {
        view.iter().map(T::bytes).sum()
    }

    fn check(view: &Vec<T::View<'_>>) -> Check {
        view.iter().try_for_each(T::check)
    }
}

impl<T: Record> Table for Option<T> {
    type View<'a> = Option<T::View<'a>>;

    fn view(&self) -> Option<T::View<'_>> {
        self.as_ref().map(T::view)
    }

    fn archived(archived: &Archived<Self>) -> Option<T::View<'_>> {
        archived.as_ref().map(T::archived)
    }

    fn bytes(view: &Option<T::View<'_>>) -> usize {
        view.as_ref().map_or(0, T::bytes)
    }

    fn check(view: &Option<T::View<'_>>) -> Check {
        view.as_ref().map_or(Ok(()), T::check)
    }
}

/// Declares tables.
///
/// ```text
/// tables! {
///     /// What the table is.
///     pub struct Lists, #[derive(Copy)] ListsView as lists {
///         /// First entry of each block, (n_blocks + 1,).
///         pub first: Vec<u32> [offsets(lists.n_blocks(), lists.entries.len())],
///         /// Nodes, Σ over blocks.
///         pub entries: Vec<u32>,
///     }
/// }
/// ```
///
/// A field of another table names its view: `bricks: Bricks as BricksView`, `grid: Option<Grid> as GridView`.
///
/// In brackets stand calls of the functions in [`check`](super::check) without their first two arguments, the name and
/// the slice. [`Table::check`] makes them in the order of the fields.
macro_rules! tables {
    ($(
        $(#[$attribute:meta])*
        pub struct $table:ident, $(#[$of_view:meta])* $view:ident as $this:ident {
            $($(#[$doc:meta])* pub $name:ident: $type:ident $(<$of:ident>)? $(as $inner:ident)? $([$($check:ident($($argument:expr),*)),+])?,)*
        }
    )*) => {$(
        $(#[$attribute])*
        #[derive(rkyv::Archive, rkyv::Serialize, rkyv::Deserialize, Debug, Clone, PartialEq)]
        pub struct $table {
            $($(#[$doc])* pub $name: $type$(<$of>)?,)*
        }

        #[doc = concat!("[`", stringify!($table), "`] as slices.")]
        $(#[$of_view])*
        #[derive(Debug, Clone)]
        pub struct $view<'a> {
            $($(#[$doc])* pub $name: $crate::block::view_type!('a $type $($of)? $(as $inner)?),)*
        }

        impl $table {
            /// The table as slices.
            pub fn view(&self) -> $view<'_> {
                $crate::block::Table::view(self)
            }
        }

        impl $view<'_> {
            /// Bytes of the slices.
            pub fn bytes(&self) -> usize {
                <$table as $crate::block::Table>::bytes(self)
            }
        }

        impl $crate::block::Table for $table {
            type View<'a> = $view<'a>;

            fn view(&self) -> $view<'_> {
                $view { $($name: $crate::block::Table::view(&self.$name),)* }
            }

            fn archived(archived: &rkyv::Archived<Self>) -> $view<'_> {
                $view { $($name: <$type$(<$of>)? as $crate::block::Table>::archived(&archived.$name),)* }
            }

            fn bytes(view: &$view<'_>) -> usize {
                [$(<$type$(<$of>)? as $crate::block::Table>::bytes(&view.$name)),*].into_iter().sum()
            }

            fn check($this: &$view<'_>) -> $crate::block::check::Check {
                $(
                    $($($crate::block::check::$check(
                        concat!(stringify!($this), ".", stringify!($name)), $this.$name $(, $argument)*
                    )?;)+)?
                    <$type$(<$of>)? as $crate::block::Table>::check(&$this.$name)?;
                )*
                Ok(())
            }
        }

        impl $crate::block::Record for $table {}
    )*};
}
pub(crate) use tables;

/// The type of a field's view, written out so that views are covariant in their lifetime.
macro_rules! view_type {
    ($a:lifetime Vec $of:ident as $inner:ident) => { Vec<$inner<$a>> };
    ($a:lifetime Option $of:ident as $inner:ident) => { Option<$inner<$a>> };
    ($a:lifetime $type:ident as $inner:ident) => { $inner<$a> };
    ($a:lifetime Vec String) => { Vec<&$a str> };
    ($a:lifetime Vec NamedSet) => { Vec<(&$a str, &$a [u32])> };
    ($a:lifetime Vec $number:ident) => { &$a [$number] };
    ($a:lifetime String) => { &$a str };
    ($a:lifetime u32) => { usize };
    ($a:lifetime $copy:ident) => { $copy };
}
pub(crate) use view_type;
