//! Structures and constants that the host and the kernels share.
//!
//! `layouts!` declares them once, in Rust. A header for the kernels is made from the declaration where they are compiled; in it
//! stand the sizes and offsets that Rust gives the fields, which every compiler of the kernels checks. Tests check without a
//! device that the stored kernels were made with the header of the declaration, and that a C++ compiler finds the same sizes and
//! offsets.
//!
//! `cargo xtask kernels` writes the headers into the target folder. Numbers that are compiled in both precisions are `T`: a template parameter
//! in a header with `numbers template`, the type `real` in one with `numbers real`.

pub(crate) use super::values::{In, Out, Pointer};

/// Declares structures and constants, and checks their header.
macro_rules! layouts {
    (
        header $header:literal, numbers $numbers:ident;
        constants { $($(#[doc = $constant_doc:literal])* $constant:ident: $constant_type:ty = $value:expr;)* }
        opaque { $($(#[doc = $opaque_doc:literal])* $opaque:ident;)* }
        $(
            $(#[doc = $doc:literal])*
            struct $name:ident $(<$T:ident>)? $(align($align:tt))? {
                $($(#[doc = $field_doc:literal])* $field:ident: $type:ty,)*
            }
        )*
    ) => {
        $($(#[doc = $constant_doc])* #[allow(dead_code)] pub(crate) const $constant: $constant_type = $value;)*
        $($(#[doc = $opaque_doc])* #[derive(Debug, Clone, Copy)] pub(crate) struct $opaque;)*
        $(
            $(#[doc = $doc])*
            #[derive(Debug, Clone, Copy)]
            #[repr(C $(, align($align))?)]
            pub(crate) struct $name $(<$T>)? {
                $($(#[doc = $field_doc])* pub $field: $type,)*
            }

            // SAFETY: the fields are plain, as `check` asks of the compiler.
            unsafe impl $(<$T: $crate::device::Plain>)? $crate::device::Plain for $name $(<$T>)? {}

            impl $(<$T: $crate::device::Plain>)? $name $(<$T>)? {
                #[allow(dead_code)]
                const fn check() {
                    const fn plain<P: $crate::device::Plain>() {}
                    $(plain::<$type>();)*
                }
            }
        )*

        #[cfg(test)]
        pub(crate) mod header {
            use super::*;
            #[allow(unused_imports)]
            use $crate::device::layout::test::{CType, Declaration, Field, Header, Structure};

            $(impl CType for $opaque {
                fn c_type() -> (String, String) {
                    (stringify!($opaque).into(), String::new())
                }
            })*
            $(
                impl $(<$T: CType>)? CType for $name $(<$T>)? {
                    fn c_type() -> (String, String) {
                        let argument = ""$(.to_owned() + &Header::template_argument::<$T>(stringify!($numbers)))?;
                        (format!("{}{argument}", stringify!($name)), String::new())
                    }
                }

                impl $(<$T: CType>)? Structure for $name $(<$T>)? {
                    fn declare() -> Declaration {
                        Declaration {
                            name: stringify!($name),
                            doc: &[$($doc),*],
                            align: &[$(stringify!($align))?],
                            generic: !concat!("" $(, stringify!($T))?).is_empty(),
                            size: size_of::<Self>(),
                            fields: vec![$(Field {
                                name: stringify!($field),
                                doc: &[$($field_doc),*],
                                c_type: <$type as CType>::c_type(),
                                offset: std::mem::offset_of!(Self, $field),
                            }),*],
                        }
                    }
                }
            )*

            pub(crate) fn header() -> Header {
                Header {
                    path: $header,
                    source: file!(),
                    numbers: stringify!($numbers),
                    constants: vec![$((
                        stringify!($constant),
                        <$constant_type as CType>::c_type().0,
                        $constant.to_string(),
                        &[$($constant_doc),*],
                    )),*],
                    opaque: vec![$(stringify!($opaque)),*],
                    structures: vec![$([
                        <$name $(<$crate::device::layout::number!($T f32)>)? as Structure>::declare(),
                        <$name $(<$crate::device::layout::number!($T f64)>)? as Structure>::declare(),
                    ]),*],
                }
            }

            #[test]
            fn header_holds_in_cpp() {
                header().check_in_cpp();
            }
        }
    };
}
pub(crate) use layouts;

/// A number as it stands for a type parameter.
#[cfg(test)]
macro_rules! number {
    ($parameter:ident $number:ty) => {
        $crate::device::layout::test::Number<$number>
    };
}
#[cfg(test)]
pub(crate) use number;

#[cfg(test)]
pub(crate) mod test {
    use std::fmt::Write as _;
    use std::path::Path;
    use std::process::Command;

    use super::{In, Out};
    use crate::device::Plain;

    /// Stands for a type parameter of a structure: as large as the number, and named by the header.
    #[derive(Debug, Clone, Copy)]
    #[repr(transparent)]
    pub struct Number<N>(N);
    // SAFETY: a number.
    unsafe impl<N: Plain> Plain for Number<N> {}

    /// The variable with a folder that all headers are to be written to.
    const WRITE: &str = "POGO_WRITE_HEADERS";

    /// Where the name of the header's numbers goes.
    const NUMBER: &str = "@";

    /// How a type is written before and after the name of a field.
    pub trait CType: Copy {
        fn c_type() -> (String, String);
    }

    macro_rules! c_types {
        ($($rust:ty = $c:literal),*) => {$(impl CType for $rust {
            fn c_type() -> (String, String) {
                ($c.into(), String::new())
            }
        })*};
    }
    c_types!(
        u8 = "u8",
        u16 = "u16",
        u32 = "u32",
        u64 = "u64",
        usize = "u32",
        i16 = "short",
        i32 = "int",
        f32 = "float",
        f64 = "double"
    );

    impl<N: Copy> CType for Number<N> {
        fn c_type() -> (String, String) {
            (NUMBER.into(), String::new())
        }
    }

    impl<T: CType, const N: usize> CType for [T; N] {
        fn c_type() -> (String, String) {
            let (before, after) = T::c_type();
            (before, format!("[{N}]{after}"))
        }
    }

    /// What a pointer points to; arrays are CUDA's vectors.
    fn target<T: CType>() -> String {
        match T::c_type() {
            (name, after) if after.is_empty() => name,
            (name, after) => {
                let name = if name == "u32" { "uint" } else { &name };
                format!("{name}{}", after.trim_matches(['[', ']']))
            }
        }
    }

    impl<T: CType> CType for In<T> {
        fn c_type() -> (String, String) {
            (format!("const {} *", target::<T>()), String::new())
        }
    }

    impl<T: CType> CType for Out<T> {
        fn c_type() -> (String, String) {
            (format!("{} *", target::<T>()), String::new())
        }
    }

    pub struct Field {
        pub name: &'static str,
        pub doc: &'static [&'static str],
        pub c_type: (String, String),
        pub offset: usize,
    }

    pub struct Declaration {
        pub name: &'static str,
        pub doc: &'static [&'static str],
        pub align: &'static [&'static str],
        pub generic: bool,
        pub size: usize,
        pub fields: Vec<Field>,
    }

    pub trait Structure {
        fn declare() -> Declaration;
    }

    /// A header as it is declared. Each structure is there with single and with double precision.
    pub struct Header {
        pub path: &'static str,
        pub source: &'static str,
        pub numbers: &'static str,
        pub constants: Vec<(&'static str, String, String, &'static [&'static str])>,
        pub opaque: Vec<&'static str>,
        pub structures: Vec<[Declaration; 2]>,
    }

    fn comment(text: &mut String, indent: &str, doc: &[&str]) {
        for line in doc {
            let _ = writeln!(text, "{indent}//{line}");
        }
    }

    impl Header {
        /// What stands behind the name of a structure with numbers `T`.
        pub fn template_argument<T: CType>(numbers: &str) -> String {
            if numbers == "template" { format!("<{}>", T::c_type().0) } else { String::new() }
        }

        fn is_template(&self) -> bool {
            self.numbers == "template"
        }

        fn text(&self) -> String {
            let source = self.source.split_once("src/").map_or(self.source, |(_, path)| path);
            let mut text =
                format!("// Written by `cargo xtask kernels` from {source}: change it there.\n\n#pragma once\n");
            let depth = self.path.matches('/').count();
            let _ = writeln!(text, "#include \"{}device/types.cuh\"", "../".repeat(depth));
            if !self.constants.is_empty() {
                text.push('\n');
            }
            for (name, c_type, value, doc) in &self.constants {
                comment(&mut text, "", doc);
                let value = if c_type == "u32" { format!("{value}u") } else { value.clone() };
                let _ = writeln!(text, "constexpr {c_type} {name} = {value};");
            }
            if !self.opaque.is_empty() {
                text.push('\n');
            }
            for name in &self.opaque {
                let _ = writeln!(text, "struct {name};");
            }
            for [single, double] in &self.structures {
                self.write_structure(&mut text, single, double);
            }
            text.replace(NUMBER, if self.is_template() { "T" } else { "real" })
        }

        fn write_structure(&self, text: &mut String, single: &Declaration, double: &Declaration) {
            text.push('\n');
            comment(text, "", single.doc);
            if single.generic && self.is_template() {
                text.push_str("template <typename T> ");
            }
            let align: String = single.align.iter().map(|align| format!("alignas({align}) ")).collect();
            let _ = writeln!(text, "struct {align}{} {{", single.name);
            for field in &single.fields {
                comment(text, "    ", field.doc);
                let (before, after) = &field.c_type;
                let space = if before.ends_with('*') { "" } else { " " };
                let _ = writeln!(text, "    {before}{space}{}{after};", field.name);
            }
            text.push_str("};\n");
            let check = |text: &mut String, name: &str, declaration: &Declaration| {
                let _ = writeln!(text, "static_assert(sizeof({name}) == {}, \"{name}\");", declaration.size);
                let mut line = String::new();
                for field in &declaration.fields {
                    let check = format!("OFFSET_IS({name}, {}, {});", field.name, field.offset);
                    if line.len() + check.len() >= 110 {
                        let _ = writeln!(text, "{line}");
                        line.clear();
                    }
                    line.push_str(if line.is_empty() { "" } else { " " });
                    line.push_str(&check);
                }
                let _ = writeln!(text, "{line}");
            };
            match (single.generic, self.is_template()) {
                (false, _) => check(text, single.name, single),
                (true, true) => {
                    check(text, &format!("{}<float>", single.name), single);
                    check(text, &format!("{}<double>", single.name), double);
                }
                (true, false) => {
                    text.push_str("#ifdef POGO_F64\n");
                    check(text, single.name, double);
                    text.push_str("#else\n");
                    check(text, single.name, single);
                    text.push_str("#endif\n");
                }
            }
        }

        /// Writes the header into a folder that is laid out as `src`.
        fn write(&self, folder: &Path) {
            let path = folder.join(self.path);
            std::fs::create_dir_all(path.with_file_name("")).expect("the folder of the header can be made");
            std::fs::write(&path, self.text()).expect("the header can be written");
        }

        /// A C++ compiler for sources that include the header, which is written into a folder.
        pub fn compiler(&self, folder: &Path) -> Command {
            self.write(folder);
            let mut compiler = Command::new("c++");
            // What the header includes stands relative to its place among the sources.
            for root in [folder, &Path::new(env!("CARGO_MANIFEST_DIR")).join("src")] {
                compiler.arg("-I").arg(root.join(self.path).with_file_name(""));
            }
            compiler.arg("-std=c++17");
            compiler
        }

        /// Checks that a C++ compiler finds the sizes and offsets of Rust. With [`WRITE`], the header is written there instead.
        pub fn check_in_cpp(&self) {
            if let Some(folder) = std::env::var_os(WRITE) {
                return self.write(Path::new(&folder));
            }
            let folder = tempfile::tempdir().expect("a folder");
            for (number, flag) in [("float", "-UPOGO_F64"), ("double", "-DPOGO_F64")] {
                let mut compiler = self.compiler(folder.path());
                compiler.args(["-fsyntax-only", "-Wno-pragma-once-outside-header", flag]);
                if !self.is_template() {
                    compiler.arg(format!("-Dreal={number}"));
                }
                compiler.args(["-x", "c++"]).arg(folder.path().join(self.path));
                let output = compiler.output().expect("a C++ compiler, `c++`");
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            }
        }
    }

    #[test]
    fn stored_kernels_are_those_of_the_sources() {
        let headers = tempfile::tempdir().expect("a folder");
        let mut tests = Command::new(std::env::current_exe().expect("this program"));
        let output =
            tests.arg("header_holds_in_cpp").env(WRITE, headers.path()).output().expect("the tests of headers run");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        xtask::check_sources(headers.path()).unwrap();
    }
}
