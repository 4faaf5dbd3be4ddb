//! Icon and version in the properties of the Windows program: a resource that windres of mingw-w64 compiles. Other systems keep both
//! in files of their packages, and for them nothing is done.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const ICON: &str = "assets/package/beamsight.ico";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={ICON}");
    let is_windows = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "windows");
    let is_gnu = env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|linker| linker == "gnu");
    if !is_windows || !is_gnu {
        return;
    }
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names a folder"));
    match compiled(&folder) {
        Ok(object) => println!("cargo::rustc-link-arg-bins={}", object.display()),
        Err(why) => println!(
            "cargo::warning=the program has no icon and no version in its properties: {why}"
        ),
    }
}

fn compiled(folder: &Path) -> Result<PathBuf, String> {
    let (script, object) = (folder.join("beamsight.rc"), folder.join("beamsight.res.o"));
    fs::write(&script, resource()).map_err(|why| why.to_string())?;
    let mut windres = Command::new("x86_64-w64-mingw32-windres");
    windres.arg(&script).arg(&object);
    match windres.status() {
        Ok(status) if status.success() => Ok(object),
        Ok(status) => Err(format!("windres ended with {status}")),
        Err(why) => Err(format!("windres (binutils-mingw-w64-x86-64): {why}")),
    }
}

/// The resource in the language of windres; 0x0409 and 1200 stand for English in UTF-16.
fn resource() -> String {
    let root = env::var("CARGO_MANIFEST_DIR").expect("cargo names the package");
    let icon = Path::new(&root).join(ICON);
    let version = env::var("CARGO_PKG_VERSION").expect("cargo names the version");
    let parts = ["MAJOR", "MINOR", "PATCH"]
        .map(|part| env::var(format!("CARGO_PKG_VERSION_{part}")).expect("a number"));
    let numbers = format!("{},0", parts.join(","));
    format!(
        r#"#pragma code_page(65001)
1 ICON "{}"
1 VERSIONINFO
FILEVERSION {numbers}
PRODUCTVERSION {numbers}
FILEOS 0x40004
FILETYPE 0x1
BEGIN
  BLOCK "StringFileInfo"
  BEGIN
    BLOCK "040904B0"
    BEGIN
      VALUE "CompanyName", "Beamsight"
      VALUE "FileDescription", "Beamsight, a radiotherapy viewer (not for clinical use)"
      VALUE "FileVersion", "{version}"
      VALUE "InternalName", "beamsight"
      VALUE "LegalCopyright", "MIT OR Apache-2.0"
      VALUE "OriginalFilename", "beamsight.exe"
      VALUE "ProductName", "Beamsight"
      VALUE "ProductVersion", "{version}"
    END
  END
  BLOCK "VarFileInfo"
  BEGIN
    VALUE "Translation", 0x409, 1200
  END
END
"#,
        icon.display()
    )
}
