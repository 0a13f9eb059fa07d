//! Folders and files from outside; what processes do to each other is in the command's tests.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use xoff_record::output::{Draft, Folder, holder, refuse_inputs, write};

fn folder(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap();
    dir
}

fn listed(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A chain of links is followed, the links stay, and so do the permissions.
#[test]
fn links_are_followed_and_stay() {
    let dir = folder("links");
    fs::create_dir(dir.join("far")).unwrap();
    fs::write(dir.join("far/file"), "old").unwrap();
    fs::set_permissions(dir.join("far/file"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("far/link", dir.join("first")).unwrap();
    symlink("file", dir.join("far/link")).unwrap();
    write(&dir.join("first"), b"new").unwrap();
    assert_eq!(fs::read(dir.join("far/file")).unwrap(), b"new");
    assert!(dir.join("first").is_symlink() && dir.join("far/link").is_symlink());
    assert_eq!(fs::metadata(dir.join("far/file")).unwrap().permissions().mode() & 0o777, 0o640);
    symlink("two", dir.join("one")).unwrap();
    symlink("one", dir.join("two")).unwrap();
    assert!(write(&dir.join("one"), b"").unwrap_err().what.contains("too many"));
    assert_eq!(listed(&dir.join("far")), ["file", "link"]);
}

/// A draft that is dropped leaves the old file; one that a killed process left goes when it is old
/// and no process holds it.
#[test]
fn drafts_leave_nothing() {
    let dir = folder("drafts");
    let file = dir.join("a.svg");
    write(&file, b"old").unwrap();
    let draft = Draft::to(&file).unwrap();
    assert_eq!(listed(&dir).len(), 2);
    // Held: another writer lets it be, however old it is.
    let name = listed(&dir).remove(0);
    let old = SystemTime::now() - Duration::from_secs(60);
    File::options().write(true).open(dir.join(&name)).unwrap().set_modified(old).unwrap();
    drop(Draft::to(&file).unwrap());
    assert_eq!(listed(&dir), [name.as_str(), "a.svg"]);
    drop(draft);
    assert_eq!(
        (listed(&dir), fs::read(&file).unwrap()),
        (vec!["a.svg".to_owned()], b"old".to_vec())
    );

    for (name, age) in
        [(".a.svg.abc123.partial", 60), (".a.svg.abc124.partial", 0), (".b.svg.abc123.partial", 60)]
    {
        let left = File::create(dir.join(name)).unwrap();
        left.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
    }
    write(&file, b"new").unwrap();
    assert_eq!(listed(&dir), [".a.svg.abc124.partial", ".b.svg.abc123.partial", "a.svg"]);
}

#[test]
fn an_input_is_no_output() {
    let dir = folder("inputs");
    fs::write(dir.join("s.toml"), "").unwrap();
    symlink("s.toml", dir.join("link")).unwrap();
    let input = dir.join("s.toml");
    assert!(
        refuse_inputs(&dir.join("link"), [input.as_path()])
            .unwrap_err()
            .what
            .contains("this command reads it")
    );
    refuse_inputs(&dir.join("other"), [input.as_path()]).unwrap();
}

/// Files come together with the last one; those that are not written again go, and nothing else
/// does.
#[test]
fn a_commit_replaces_the_whole() {
    let dir = folder("commit");
    let first = Folder::claim(&dir, "run", false).unwrap();
    for name in ["a", "b"] {
        first.stage_bytes(name, b"1").unwrap();
    }
    first.sub("figures").unwrap();
    first.write("figures/f.svg", b"1").unwrap();
    assert_eq!(listed(&dir.join("figures")), ["f.svg"]);
    let below = first.sub("below").unwrap();
    below.stage_bytes("c", b"1").unwrap();
    first.commit("last", b"1").unwrap();
    assert_eq!(listed(&dir.join("below")), ["c"]);
    below.commit("last", b"1").unwrap();
    drop((first, below));

    let second = Folder::claim(&dir, "run", false).unwrap();
    second.stage_bytes("a", b"2").unwrap();
    assert_eq!(fs::read(dir.join("a")).unwrap(), b"1");
    assert!(holder(&dir).unwrap().contains("still writing"));
    assert!(Folder::claim(&dir, "run", true).unwrap_err().what.contains("is in use by process"));
    second.commit("last", b"2").unwrap();
    drop(second);
    assert_eq!(listed(&dir), [".xoff", "a", "last"]);
    assert_eq!(fs::read(dir.join("a")).unwrap(), b"2");

    // Of another command with force: its files go, the user's stay.
    fs::write(dir.join("mine"), "mine").unwrap();
    assert!(
        Folder::claim(&dir, "hpcc", false)
            .unwrap_err()
            .what
            .contains("contains results of 'xoff run'")
    );
    let third = Folder::claim(&dir, "hpcc", true).unwrap();
    assert!(third.stage_bytes("mine", b"").unwrap_err().what.contains("is in the way"));
    third.commit("end", b"3").unwrap();
    drop(third);
    assert_eq!(listed(&dir), [".xoff", "end", "mine"]);
}

/// A name was noted and its file was not finished: whatever the time, the next claim distinguishes
/// it from files of others.
#[test]
fn what_a_killed_process_left_is_reported_from_files_of_others() {
    let dir = folder("killed");
    let first = Folder::claim(&dir, "run", false).unwrap();
    first.commit("last", b"1").unwrap();
    first.own("table").unwrap();
    drop(first);
    fs::write(dir.join("table.partial"), "half").unwrap();
    // A line that was cut off.
    let mut record = fs::read(dir.join(".xoff")).unwrap();
    record.extend(b"\"oth");
    fs::write(dir.join(".xoff"), record).unwrap();
    let second = Folder::claim(&dir, "run", false).unwrap();
    assert_eq!(listed(&dir), [".xoff", "last"]);
    fs::write(second.own("other").unwrap(), "whole").unwrap();
    drop(second);
    drop(Folder::claim(&dir, "run", false).unwrap());
    // What was not noted is the user's.
    fs::write(dir.join("third.partial"), "").unwrap();
    assert!(
        Folder::claim(&dir, "run", false)
            .unwrap_err()
            .what
            .contains("did not write: 'third.partial'")
    );
}

/// A user's file of the record's name is left alone.
#[test]
fn a_record_that_is_not_ours_is_refused() {
    let dir = folder("record");
    fs::write(dir.join(".xoff"), "my notes").unwrap();
    for force in [false, true] {
        assert!(
            Folder::claim(&dir, "run", force)
                .unwrap_err()
                .what
                .contains("it is not a record of xoff")
        );
    }
    assert_eq!(fs::read(dir.join(".xoff")).unwrap(), b"my notes");
    fs::remove_file(dir.join(".xoff")).unwrap();
    symlink("elsewhere", dir.join(".xoff")).unwrap();
    assert!(Folder::claim(&dir, "run", true).is_err());
    assert!(!dir.join("elsewhere").exists());
}

/// A claim that came to nothing leaves nothing, and one of the same folder by another name is the
/// same.
#[test]
fn a_claim_without_results_leaves_nothing() {
    let dir = folder("nothing");
    drop(Folder::claim(&dir.join("new"), "run", false).unwrap());
    assert!(listed(&dir).is_empty());
    let held = Folder::claim(&dir.join("new"), "run", false).unwrap();
    symlink("new", dir.join("link")).unwrap();
    assert!(Folder::claim(&dir.join("link"), "run", false).unwrap_err().what.contains("in use"));
    held.own_if_inside(&dir.join("link/capture")).unwrap();
    fs::write(dir.join("new/capture"), "").unwrap();
    drop(held);
    Folder::claim(&dir.join("new"), "run", false).unwrap();
}
