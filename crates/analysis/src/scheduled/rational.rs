//! Exact fractions in 128 bits for the fluid solver: a queue that drains shares of other queues
//! needs thirds and sevenths.
//!
//! Like a float that knows infinity, a fraction that no longer fits becomes [`Q::LOST`] and stays
//! so through every operation; nothing wraps and nothing is rounded. Whoever keeps results asks
//! [`Q::fits`] ([`super::fluid`] does so at every event and stops).
//!
//! Not `num_rational::Ratio<i128>`: with its checked operations in an `Option` this file is 47
//! lines shorter and takes 1.7 to 2.7 times as long (10 million operations on fractions of the
//! solver's size: 6.3 to 8.4 s instead of 3.1 to 3.6 s), as its greatest common divisor works on
//! 128 bits throughout.

use std::cmp::Ordering;
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// A fraction in lowest terms. The unit is the user's: time in segment times, volume in segments,
/// rate in link rates.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Q {
    num: i128,
    /// Positive; 0 marks [`Q::LOST`].
    den: i128,
}

impl Q {
    /// 0.
    pub const ZERO: Q = Q { num: 0, den: 1 };
    /// 1.
    pub const ONE: Q = Q { num: 1, den: 1 };
    /// The result of an operation that did not fit into 128 bits, or of a division by zero.
    pub const LOST: Q = Q { num: 0, den: 0 };

    /// num/den in lowest terms; [`Q::LOST`] if `den` is zero.
    pub fn new(num: i128, den: i128) -> Q {
        if den == 0 || num == i128::MIN || den == i128::MIN {
            return Q::LOST;
        }
        let g = gcd(num.unsigned_abs(), den.unsigned_abs()) as i128 * den.signum();
        Q { num: num / g, den: den / g }
    }

    /// A whole number.
    pub const fn int(n: i128) -> Q {
        Q { num: n, den: 1 }
    }

    /// True if every operation so far fitted into 128 bits.
    pub fn fits(self) -> bool {
        self.den != 0
    }

    /// Greater than zero.
    pub fn is_positive(self) -> bool {
        self.num > 0
    }

    /// Equal to zero.
    pub fn is_zero(self) -> bool {
        self.num == 0 && self.den != 0
    }

    /// The nearest float, for drawing and for messages.
    pub fn to_f64(self) -> f64 {
        self.num as f64 / self.den as f64
    }

    /// The largest multiple of 1/`grain` that is not above this.
    pub fn floor_to(self, grain: i128) -> Q {
        match (self.fits(), self.num.checked_mul(grain)) {
            (true, Some(scaled)) => Q::new(scaled.div_euclid(self.den), grain),
            _ => Q::LOST,
        }
    }

    fn checked(num: Option<i128>, den: Option<i128>) -> Q {
        match (num, den) {
            (Some(n), Some(d)) => Q::new(n, d),
            _ => Q::LOST,
        }
    }
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        // Most values are short, and a 64-bit remainder costs a tenth of a 128-bit one.
        if let (Ok(mut x), Ok(mut y)) = (u64::try_from(a), u64::try_from(b)) {
            while y != 0 {
                (x, y) = (y, x % y);
            }
            return u128::from(x);
        }
        (a, b) = (b, a % b);
    }
    a
}

impl Add for Q {
    type Output = Q;
    fn add(self, o: Q) -> Q {
        if !self.fits() || !o.fits() {
            return Q::LOST;
        }
        if self.den == o.den {
            return Q::checked(self.num.checked_add(o.num), Some(self.den));
        }
        let g = gcd(self.den as u128, o.den as u128) as i128;
        let (left, right) = (self.num.checked_mul(o.den / g), o.num.checked_mul(self.den / g));
        let num = left.zip(right).and_then(|(l, r)| l.checked_add(r));
        Q::checked(num, self.den.checked_mul(o.den / g))
    }
}

impl Neg for Q {
    type Output = Q;
    fn neg(self) -> Q {
        Q { num: -self.num, den: self.den }
    }
}

impl Sub for Q {
    type Output = Q;
    fn sub(self, o: Q) -> Q {
        self + -o
    }
}

impl Mul for Q {
    type Output = Q;
    fn mul(self, o: Q) -> Q {
        if !self.fits() || !o.fits() {
            return Q::LOST;
        }
        // Reduced crosswise first, so that only results that do not fit are lost.
        let (a, b) = (Q::new(self.num, o.den), Q::new(o.num, self.den));
        Q::checked(a.num.checked_mul(b.num), a.den.checked_mul(b.den))
    }
}

impl Div for Q {
    type Output = Q;
    fn div(self, o: Q) -> Q {
        if o.num == 0 { Q::LOST } else { self * Q::new(o.den, o.num) }
    }
}

impl AddAssign for Q {
    fn add_assign(&mut self, o: Q) {
        *self = *self + o;
    }
}

impl SubAssign for Q {
    fn sub_assign(&mut self, o: Q) {
        *self = *self - o;
    }
}

impl Sum for Q {
    fn sum<I: Iterator<Item = Q>>(items: I) -> Q {
        items.fold(Q::ZERO, Add::add)
    }
}

impl Ord for Q {
    /// By value, with [`Q::LOST`] above all: a peak that was lost is not overlooked.
    fn cmp(&self, o: &Q) -> Ordering {
        if !self.fits() || !o.fits() {
            return o.fits().cmp(&self.fits());
        }
        if let (Some(l), Some(r)) = (self.num.checked_mul(o.den), o.num.checked_mul(self.den)) {
            return l.cmp(&r);
        }
        // Continued fractions: compare whole parts, then the inverted rests the other way round.
        // Nothing overflows.
        let (mut a, mut b) = ((self.num, self.den), (o.num, o.den));
        loop {
            let (wa, wb) = (a.0.div_euclid(a.1), b.0.div_euclid(b.1));
            let (ra, rb) = (a.0.rem_euclid(a.1), b.0.rem_euclid(b.1));
            match (wa.cmp(&wb), ra == 0, rb == 0) {
                (Ordering::Equal, true, _) | (Ordering::Equal, _, true) => {
                    return (ra != 0).cmp(&(rb != 0));
                }
                (Ordering::Equal, false, false) => (a, b) = ((b.1, rb), (a.1, ra)),
                (other, _, _) => return other,
            }
        }
    }
}

impl PartialOrd for Q {
    fn partial_cmp(&self, o: &Q) -> Option<Ordering> {
        Some(self.cmp(o))
    }
}

impl fmt::Display for Q {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.den {
            0 => f.write_str("lost"),
            1 => write!(f, "{}", self.num),
            _ => write!(f, "{}/{}", self.num, self.den),
        }
    }
}

impl fmt::Debug for Q {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_is_exact_and_reduced() {
        let (a, b) = (Q::new(2, 3), Q::new(-5, 6));
        assert_eq!(
            [a + b, a - b, a * b, a / b],
            [Q::new(-1, 6), Q::new(3, 2), Q::new(-5, 9), Q::new(-4, 5)]
        );
        assert_eq!((Q::new(4, -6).num, Q::new(4, -6).den), (-2, 3));
        assert_eq!([Q::new(7, 3).floor_to(2), Q::new(-7, 3).floor_to(1)], [Q::int(2), Q::int(-3)]);
        assert_eq!(format!("{} {}", Q::new(8, 6), Q::int(5)), "4/3 5");
    }

    #[test]
    fn what_does_not_fit_is_lost_and_stays_lost() {
        let big = Q::int(i128::MAX / 2);
        let lost = [
            big * big,
            big + big + big,
            Q::ONE / Q::ZERO,
            Q::new(1, 0),
            Q::LOST - Q::LOST,
            -Q::LOST,
        ];
        assert!(lost.iter().all(|q| !q.fits() && !(*q + Q::ONE).fits()), "{lost:?}");
        assert!(Q::LOST > big, "a lost peak must not be overlooked");
    }

    #[test]
    fn order_holds_where_products_overflow() {
        let near = |d: i128| Q::new(i128::MAX / 3, i128::MAX / 5 + d);
        assert!(near(1) < near(0) && near(0) < near(-1));
        assert_eq!(near(0).cmp(&near(0)), Ordering::Equal);
        assert!(-near(0) < -near(1) && -near(0) < near(1));
        // 5/3 - 1e-30 against 5/3: equal to the last digit of a float.
        assert!(Q::int(5) / Q::int(3) > Q::int(5) / Q::int(3) - Q::new(1, 10i128.pow(30)));
    }
}
