// Recognizes equal texts: CRC-32 and length in UTF-8, which the companion has of the text that ran.

export interface ISum {
  crc: number;
  length: number;
}

const TABLE = new Uint32Array(256).map((_, n) => {
  for (let bit = 0; bit < 8; bit++) {
    n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  }
  return n;
});

export function sum(source: string): ISum {
  const data = new TextEncoder().encode(source);
  let crc = 0xffffffff;
  for (const byte of data) {
    crc = TABLE[(crc ^ byte) & 0xff] ^ (crc >>> 8);
  }
  return { crc: (crc ^ 0xffffffff) >>> 0, length: data.length };
}
