//! Makes a failing text small: sections, lines and numbers are taken away as long as the rest still
//! fails in the same manner.

/// The most attempts; each is a run.
const ATTEMPTS_MAX: usize = 2000;

/// The smallest text found for which `fails` still holds.
pub fn shrink(text: &str, fails: impl Fn(&str) -> bool) -> String {
    let (mut best, mut attempts) = (text.to_owned(), 0);
    loop {
        let candidates = sections(&best).into_iter().chain(lines(&best)).chain(numbers(&best));
        let smaller = candidates.take_while(|_| {
            attempts += 1;
            attempts <= ATTEMPTS_MAX
        });
        match smaller.into_iter().find(|c| fails(c)) {
            Some(smaller) => best = smaller,
            None => return best,
        }
    }
}

/// The lines but those of a range.
fn without(all: &[&str], from: usize, to: usize) -> String {
    let kept = all.iter().enumerate().filter(|(i, _)| !(from..to).contains(i));
    kept.map(|(_, line)| format!("{line}\n")).collect()
}

/// One section less, the last first: it depends on those before it, not they on it.
fn sections(text: &str) -> Vec<String> {
    let all: Vec<&str> = text.lines().collect();
    let mut starts: Vec<usize> = (0..all.len()).filter(|&i| all[i].starts_with('[')).collect();
    starts.push(all.len());
    starts.windows(2).rev().map(|w| without(&all, w[0], w[1])).collect()
}

/// One line less.
fn lines(text: &str) -> Vec<String> {
    let all: Vec<&str> = text.lines().collect();
    (0..all.len())
        .rev()
        .filter(|&i| !all[i].starts_with('['))
        .map(|i| without(&all, i, i + 1))
        .collect()
}

/// One number halved, the unit kept; seeds stay, since half of one is another case, not a smaller
/// one.
fn numbers(text: &str) -> Vec<String> {
    let mut smaller = Vec::new();
    let mut at = 0;
    for line in text.lines() {
        if let Some(equals) = line.find('=').filter(|_| !line.starts_with("seed")) {
            let value = &line[equals..];
            if let Some(begin) = value.find(|c: char| c.is_ascii_digit()) {
                let digits: String =
                    value[begin..].chars().take_while(char::is_ascii_digit).collect();
                let named = value[..begin].ends_with(|c: char| c.is_alphanumeric()); // part of a name, such as H3
                if let Some(half) =
                    digits.parse::<u64>().ok().map(|n| n / 2).filter(|_| !named && digits != "0")
                {
                    let place = at + equals + begin;
                    smaller.push(format!(
                        "{}{half}{}",
                        &text[..place],
                        &text[place + digits.len()..]
                    ));
                }
            }
        }
        at += line.len() + 1;
    }
    smaller
}
