//! What a section of a block file can hold, and how tables are read in place.

use std::fmt::Debug;
use std::io;

use rkyv::{
    Archive, Archived, Deserialize, Portable, Serialize,
    api::high::{HighDeserializer, HighSerializer, HighValidator},
    bytecheck::CheckBytes,
    rancor::BoxedError,
    ser::allocator::ArenaHandle,
};

use super::container::{ContainerWriter, SectionWriter};
use super::mapped::Valid;
use super::{BlockError, Container};

/// A value that is stored as one section: an rkyv archive.
pub trait Stored: Sized {
    /// A copy of what a section holds.
    ///
    /// # Errors
    /// No such section, or bytes that are no such value.
    fn read(container: &Container, name: &'static str) -> Result<Self, BlockError>;

    /// That a section holds such a value.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    fn validate(container: &Container, name: &'static str) -> Result<Valid<Self>, BlockError>;

    /// Appends the value to a file.
    ///
    /// # Errors
    /// The system refuses to write.
    fn write(&self, name: &str, writer: &mut ContainerWriter) -> io::Result<()>;
}

impl<T> Stored for T
where
    T: Archive + for<'b, 'c> Serialize<HighSerializer<SectionWriter<'c>, ArenaHandle<'b>, BoxedError>>,
    Archived<T>:
        Portable + for<'b> CheckBytes<HighValidator<'b, BoxedError>> + Deserialize<T, HighDeserializer<BoxedError>>,
{
    fn read(container: &Container, name: &'static str) -> Result<Self, BlockError> {
        container.read(name)
    }

    fn validate(container: &Container, name: &'static str) -> Result<Valid<Self>, BlockError> {
        container.validate(name)
    }

    fn write(&self, name: &str, writer: &mut ContainerWriter) -> io::Result<()> {
        writer.section(name, self)
    }
}

/// The sections of one physics beside `provenance` and `setup`; made by `sections!`.
pub trait Sections: Debug + Send + Sync + Sized {
    /// Names, in the order of the file.
    const NAMES: &'static [&'static str];
    /// Tables in memory, to be written.
    type Contents<'a>: Copy;
    /// Tables as slices.
    type View<'a>;

    /// Checks the structure of every section.
    ///
    /// # Errors
    /// A section that is missing, or whose bytes are not what its type allows.
    fn validate(container: &Container) -> Result<Self, BlockError>;

    /// The tables in the file that was [validated](Self::validate).
    fn view<'a>(&'a self, container: &'a Container) -> Self::View<'a>;

    /// The tables in memory.
    fn view_of<'a>(contents: &Self::Contents<'a>) -> Self::View<'a>;

    /// Appends every section to a file.
    ///
    /// # Errors
    /// The system refuses to write.
    fn write(contents: &Self::Contents<'_>, writer: &mut ContainerWriter) -> io::Result<()>;
}

/// Declares a kind of physics, by its name and its setup, with the sections of its block file: what is written, what is read
/// in place, and one accessor of the open file each. The module `check` beside the declaration has the checks.
macro_rules! sections {
    (
        $(#[$about:meta])*
        $physics:ident($known_as:literal, $setup:ty): $contents:ident, $view:ident, $sections:ident {
            $($(#[$doc:meta])* $name:ident: $type:ty,)*
        }
    ) => {
        $(#[$about])*
        #[derive(Debug)]
        pub struct $physics;

        impl $crate::physics::Physics for $physics {
            const NAME: &'static str = $known_as;
            type Setup = $setup;
            type Sections = $sections;

            fn check(tables: &$view, setup: &$setup) -> $crate::block::check::Check {
                check::all(tables, setup)
            }

            fn agreement(tables: &$view) -> $crate::block::check::Check {
                check::agreement(tables)
            }
        }

        /// Tables to be written into a block file.
        #[derive(Debug, Clone, Copy)]
        pub struct $contents<'a> { $($(#[$doc])* pub $name: &'a $type,)* }

        /// Tables of a block file as slices.
        #[derive(Debug)]
        pub struct $view<'a> { $($(#[$doc])* pub $name: <$type as $crate::block::Table>::View<'a>,)* }

        /// Sections of a block file that hold what they should.
        #[derive(Debug)]
        pub struct $sections { $($name: $crate::block::mapped::Valid<$type>,)* }

        impl $crate::block::Sections for $sections {
            const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];
            type Contents<'a> = $contents<'a>;
            type View<'a> = $view<'a>;

            fn validate(container: &$crate::block::Container) -> Result<Self, $crate::block::BlockError> {
                Ok(Self { $($name: container.validate(stringify!($name))?,)* })
            }

            fn view<'a>(&'a self, container: &'a $crate::block::Container) -> $view<'a> {
                $view { $($name: <$type as $crate::block::Table>::archived(container.get(&self.$name)),)* }
            }

            fn view_of<'a>(contents: &Self::Contents<'a>) -> Self::View<'a> {
                $view { $($name: $crate::block::Table::view(contents.$name),)* }
            }

            fn write(
                contents: &$contents<'_>,
                writer: &mut $crate::block::container::ContainerWriter,
            ) -> std::io::Result<()> {
                $(writer.section(stringify!($name), contents.$name)?;)*
                Ok(())
            }
        }

        impl $crate::physics::BlockFile<$physics> {
            $(
                $(#[$doc])*
                pub fn $name(&self) -> <$type as $crate::block::Table>::View<'_> {
                    <$type as $crate::block::Table>::archived(self.container().get(&self.sections().$name))
                }
            )*
        }
    };
}
pub(crate) use sections;
