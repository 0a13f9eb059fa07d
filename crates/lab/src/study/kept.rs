//! Finished work, kept in a file: one line of JSON per piece, so that a stopped study can continue.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ReproduceError;

/// A line of the file.
#[derive(Serialize, Deserialize)]
struct Line {
    /// Fingerprint of program and scenario: results with another one are not used.
    basis: String,
    key: Value,
    result: Value,
}

/// Finished work by key.
pub struct Kept {
    basis: String,
    file: File,
    path: std::path::PathBuf,
    done: HashMap<String, Value>,
    /// Results of another basis, which are not used.
    pub others: usize,
}

impl Kept {
    /// Opens the file or begins it; reads the lines that fit `basis`. A last line that was cut off is overwritten.
    pub fn open(path: &Path, basis: &str) -> Result<Kept, ReproduceError> {
        let error = |e| ReproduceError::file(path, e);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|e| ReproduceError::file(folder, e))?;
        }
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(error)?;
        let mut done = HashMap::new();
        let (mut sound, mut others) = (0, 0);
        let mut reader = BufReader::new(&file);
        let mut text = String::new();
        while reader.read_line(&mut text).map_err(error)? > 0 {
            let Ok(line) = serde_json::from_str::<Line>(&text) else { break };
            if !text.ends_with('\n') {
                break;
            }
            sound += text.len() as u64;
            if line.basis == basis {
                done.insert(line.key.to_string(), line.result);
            } else {
                others += 1;
            }
            text.clear();
        }
        file.set_len(sound).and_then(|()| file.seek(SeekFrom::End(0))).map_err(error)?;
        Ok(Kept { basis: basis.to_owned(), file, path: path.to_owned(), done, others })
    }

    fn key<K: Serialize>(key: &K) -> Value {
        serde_json::to_value(key).expect("keys are plain data")
    }

    /// The result of this piece of work, if it is done.
    pub fn get<K: Serialize, R: DeserializeOwned>(&self, key: &K) -> Option<R> {
        self.done.get(&Self::key(key).to_string()).and_then(|r| serde_json::from_value(r.clone()).ok())
    }

    /// Keeps a result.
    pub fn put<K: Serialize, R: Serialize>(&mut self, key: &K, result: &R) -> Result<(), ReproduceError> {
        let (key, result) = (Self::key(key), serde_json::to_value(result).expect("results are plain data"));
        let line = Line { basis: self.basis.clone(), key, result };
        let mut text = serde_json::to_string(&line).expect("a line is plain data");
        text.push('\n');
        self.file.write_all(text.as_bytes()).map_err(|e| ReproduceError::file(&self.path, e))?;
        self.done.insert(line.key.to_string(), line.result);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finished_work_is_found_again_and_a_torn_line_is_not() {
        let folder = std::env::temp_dir().join(format!("large-scale-store-{}", std::process::id()));
        let path = folder.join("done.jsonl");
        let _ = std::fs::remove_file(&path);
        {
            let mut s = Kept::open(&path, "a").unwrap();
            assert_eq!(s.get::<_, u32>(&1), None);
            s.put(&1, &10).unwrap();
            s.put(&2, &20).unwrap();
        }
        let whole = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 3]).unwrap();
        let mut s = Kept::open(&path, "a").unwrap();
        assert_eq!((s.get::<_, u32>(&1), s.get::<_, u32>(&2)), (Some(10), None));
        s.put(&2, &21).unwrap();
        let s = Kept::open(&path, "a").unwrap();
        assert_eq!(s.get::<_, u32>(&2), Some(21));
        assert_eq!(s.others, 0);
        let b = Kept::open(&path, "b").unwrap();
        assert_eq!((b.get::<_, u32>(&1), b.others), (None, 2), "work of another program");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
