// @ts-check
// Unpacks LZMA (the format of .lzma files): a third smaller than what browsers unpack by themselves.
"use strict";
/* eslint complexity: off, max-depth: off, max-lines-per-function: off -- the loop of the format, one state machine */
/** @param {Uint8Array} from @param {number} size Length of the result [bytes] */
const unlzma = (from, size) => {
  const [lc, lp, pb] = [from[0] % 9, Math.floor(from[0] / 9) % 5, Math.floor(from[0] / 45)];
  const out = new Uint8Array(size);
  // Probabilities, one part after the other.
  const [MATCH, REP, REP0, REP1, REP2, REP0LONG, SLOT, SPECIAL, ALIGN, LEN, REPLEN, LITERAL] = [0, 192, 204, 216, 228, 240, 432, 688, 803, 819, 1333, 1847];
  const p = new Uint16Array(LITERAL + (0x300 << (lc + lp))).fill(1024);
  let [range, code, pos] = [0xffffffff, 0, 14];
  while (pos < 18) code = ((code << 8) | from[pos++]) >>> 0;
  const more = () => {
    if (range >= 0x1000000) return;
    range = (range << 8) >>> 0;
    code = ((code << 8) | from[pos++]) >>> 0;
  };
  /** @param {number} at */
  const bit = (at) => {
    const bound = (range >>> 11) * p[at];
    const one = code >= bound;
    if (one) {
      range -= bound;
      code -= bound;
      p[at] -= p[at] >> 5;
    } else {
      range = bound;
      p[at] += (2048 - p[at]) >> 5;
    }
    more();
    return one ? 1 : 0;
  };
  /** Bits from the highest. @param {number} at @param {number} count */
  const tree = (at, count) => {
    let m = 1;
    for (let i = 0; i < count; i++) m = (m << 1) | bit(at + m);
    return m - (1 << count);
  };
  /** Bits from the lowest. @param {number} at @param {number} count */
  const reversed = (at, count) => {
    let [m, sum] = [1, 0];
    for (let i = 0; i < count; i++) {
      const b = bit(at + m);
      m = (m << 1) | b;
      sum |= b << i;
    }
    return sum;
  };
  /** @param {number} count */
  const direct = (count) => {
    let sum = 0;
    for (; count > 0; count--) {
      range >>>= 1;
      const one = code >= range;
      if (one) code -= range;
      sum = (sum << 1) | (one ? 1 : 0);
      more();
    }
    return sum;
  };
  /** @param {number} at @param {number} place */
  const length = (at, place) => {
    if (!bit(at)) return 2 + tree(at + 2 + (place << 3), 3);
    if (!bit(at + 1)) return 10 + tree(at + 130 + (place << 3), 3);
    return 18 + tree(at + 258, 8);
  };
  let [state, n, r0, r1, r2, r3] = [0, 0, 0, 0, 0, 0];
  while (n < size) {
    const place = n & ((1 << pb) - 1);
    if (!bit(MATCH + (state << 4) + place)) {
      const before = n ? out[n - 1] : 0;
      const at = LITERAL + 0x300 * (((n & ((1 << lp) - 1)) << lc) + (before >> (8 - lc)));
      let symbol = 1;
      if (state >= 7) {
        let matched = out[n - r0 - 1];
        do {
          const wanted = (matched >> 7) & 1;
          matched <<= 1;
          const b = bit(at + ((1 + wanted) << 8) + symbol);
          symbol = (symbol << 1) | b;
          if (wanted !== b) break;
        } while (symbol < 0x100);
      }
      while (symbol < 0x100) symbol = (symbol << 1) | bit(at + symbol);
      out[n++] = symbol;
      state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
      continue;
    }
    let many;
    if (bit(REP + state)) {
      if (!bit(REP0 + state)) {
        if (!bit(REP0LONG + (state << 4) + place)) {
          state = state < 7 ? 9 : 11;
          out[n] = out[n - r0 - 1];
          n++;
          continue;
        }
      } else if (!bit(REP1 + state)) [r0, r1] = [r1, r0];
      else if (!bit(REP2 + state)) [r0, r1, r2] = [r2, r0, r1];
      else [r0, r1, r2, r3] = [r3, r0, r1, r2];
      many = length(REPLEN, place);
      state = state < 7 ? 8 : 11;
    } else {
      [r1, r2, r3] = [r0, r1, r2];
      many = length(LEN, place);
      state = state < 7 ? 7 : 10;
      const slot = tree(SLOT + (Math.min(many - 2, 3) << 6), 6);
      if (slot < 4) r0 = slot;
      else {
        const count = (slot >> 1) - 1;
        r0 = (2 | (slot & 1)) << count;
        r0 += slot < 14 ? reversed(SPECIAL + r0 - slot, count) : (direct(count - 4) << 4) + reversed(ALIGN, 4);
      }
    }
    if (r0 >= n) throw new Error("the simulator is damaged: load the page again");
    for (; many > 0 && n < size; many--, n++) out[n] = out[n - r0 - 1];
  }
  return out;
};
if (typeof module === "object") module.exports = { unlzma };
