// A verifier for `simlab certify --command ./verifier`: protocol version 1, contracts verify and chain_uniforms.
// rustc -O --edition 2021 verifier.rs. Put your own in place of `verify`.
use std::io::{self, BufRead, Read, Write};
fn draw(weights: &[f64], coin: f64) -> i64 {
    let (mark, mut upto) = (coin * weights.iter().sum::<f64>(), 0.0);
    let found = weights.iter().position(|w| { upto += w; mark < upto });
    found.unwrap_or_else(|| weights.iter().rposition(|w| *w > 0.0).unwrap()) as i64
}

/// p[gamma + 1][V], q[gamma][V], drafts[gamma], gamma + 1 coins in [0, 1)
fn verify(p: &[f64], q: &[f64], drafts: &[i64], coins: &[f64], v: usize) -> Vec<i64> {
    for i in 0..drafts.len() {
        let (p, q, x) = (&p[i * v..][..v], &q[i * v..][..v], drafts[i] as usize);
        if coins[i] * q[x] >= p[x] { // rejected
            let left: Vec<f64> = p.iter().zip(q).map(|(p, q)| (p - q).max(0.0)).collect();
            let row = if left.iter().any(|w| *w > 0.0) { &left[..] } else { p };
            return [&drafts[..i], &[draw(row, coins[drafts.len()])]].concat();
        }
    }
    [drafts, &[draw(&p[drafts.len() * v..], coins[drafts.len()])]].concat()
}

fn read_words(input: &mut impl Read, count: usize) -> Option<Vec<i64>> {
    let mut bytes = vec![0u8; 8 * count];
    input.read_exact(&mut bytes).ok()?;
    Some(bytes.chunks(8).map(|word| i64::from_le_bytes(word.try_into().unwrap())).collect())
}

fn main() -> io::Result<()> {
    let (mut input, mut output, mut line) = (io::stdin().lock(), io::stdout().lock(), String::new());
    input.read_line(&mut line)?;
    let parts: Vec<&str> = line.split_whitespace().collect();
    let given = parts[2] == "chain_uniforms";
    assert!(parts[..2] == ["simlab-certify", "1"] && (parts[2] == "verify" || given), "expected version 1");
    let mut state: u64 = parts[3].parse().unwrap();
    let mut uniform = || { // splitmix64
        state = state.wrapping_add(0x9e3779b97f4a7c15);
        let mut z = (state ^ (state >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d049bb133111eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    };
    writeln!(output, "simlab-certify 1 {}", parts[2]).and_then(|_| output.flush())?;
    while let Some(length) = read_words(&mut input, 1) {
        let words = read_words(&mut input, length[0] as usize).expect("a whole frame");
        let (gamma, v, mut at) = (words[3] as usize - 1, words[4] as usize, if given { 13 } else { 10 });
        let real: Vec<f64> = words.iter().map(|word| f64::from_bits(*word as u64)).collect();
        let mut answer = vec![0];
        for _ in 0..words[0] { // behind the shapes (2: gamma + 1, V), (2: gamma, V), (1: gamma) ...
            let (q, drafts, end) = (at + (gamma + 1) * v, at + (2 * gamma + 1) * v, at + (2 * gamma + 1) * v + gamma);
            let drawn: Vec<f64> = (0..=gamma).map(|i| if given { real[end + i] } else { uniform() }).collect();
            let tokens = verify(&real[at..q], &real[q..drafts], &words[drafts..end], &drawn, v);
            answer.extend([&[tokens.len() as i64], &tokens[..]].concat());
            at = if given { end + gamma + 1 } else { end };
        }
        answer[0] = answer.len() as i64 - 1;
        answer.iter().try_for_each(|word| output.write_all(&word.to_le_bytes()))?;
        output.flush()?;
    }
    Ok(())
}
