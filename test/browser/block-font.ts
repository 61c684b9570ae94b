/**
 * A font for tests that measure pixels, so that they measure the same on every machine. It has every character: those
 * before U+3000, such as Latin letters, have one width, and all later ones, such as Japanese, are one em wide.
 */
import type { Page } from 'playwright-core'

export interface BlockFontOptions {
  /** Of a Latin letter, in thousandths of an em. */
  readonly latinWidth: number
  /** How far the font reaches above and below the line, in thousandths of an em. */
  readonly ascent?: number
  readonly descent?: number
}

/** All texts of the page have this font from now on. */
export async function setBlockFont(page: Page, options: BlockFontOptions): Promise<void> {
  await page.evaluate(
    async ({ bytes, name }) => {
      if (![...document.fonts].some(({ family }) => family === name))
        document.fonts.add(await new FontFace(name, new Uint8Array(bytes)).load())
      const sheet = new CSSStyleSheet()
      sheet.replaceSync(`* { font-family: ${name} !important }`)
      document.adoptedStyleSheets = [sheet]
    },
    { bytes: [...blockFont(options)], name: `blocks-${options.latinWidth}-${options.ascent ?? 0}` },
  )
}

const EM = 1000
/** Glyphs. The first is for characters that the font does not have. */
const [LATIN, WIDE] = [1, 2]
/** The sum of all words of the file. */
const MAGIC_SUM = 0xb1b0afba
const MAGIC = 0x5f0f3cf5
const REGULAR = 400

/** As a TrueType file. */
export function blockFont({ latinWidth, ascent = 900, descent = 200 }: BlockFontOptions): Buffer {
  const widths = [latinWidth, latinWidth, EM]
  const glyph = square(EM / 4)
  const head = Buffer.concat([
    numbers(32, 0x10000, 0x10000, 0, MAGIC),
    numbers(16, 0, EM, ...Array(8).fill(0), 0, 0, EM / 4, EM / 4, 0, 8, 2, 1, 0),
  ])
  const tables: Record<string, Buffer> = {
    'OS/2': os2(ascent, descent),
    cmap: characters(),
    glyf: Buffer.concat(widths.map(() => glyph)),
    head,
    hhea: Buffer.concat([
      numbers(32, 0x10000),
      numbers(16, ascent, -descent, 0, EM, 0, 0, EM / 4, 1, ...Array(7).fill(0), widths.length),
    ]),
    hmtx: numbers(16, ...widths.flatMap((width) => [width, 0])),
    loca: numbers(32, ...[0, 1, 2, 3].map((index) => index * glyph.length)),
    maxp: Buffer.concat([
      numbers(32, 0x10000),
      numbers(16, widths.length, 4, 1, 0, 0, 1, ...Array(8).fill(0)),
    ]),
    name: names(),
    post: numbers(32, 0x30000, ...Array(7).fill(0)),
  }
  return assemble(tables)
}

function assemble(tables: Record<string, Buffer>): Buffer {
  const entries = Object.entries(tables)
  const power = 2 ** Math.floor(Math.log2(entries.length))
  const directory = [
    numbers(32, 0x10000),
    numbers(16, entries.length, power * 16, Math.log2(power), (entries.length - power) * 16),
  ]
  let offset = 12 + 16 * entries.length
  let headAt = 0
  const contents: Buffer[] = []
  for (const [tag, table] of entries) {
    const padded = Buffer.concat([table, Buffer.alloc(-table.length & 3)])
    if (tag === 'head') headAt = offset
    directory.push(Buffer.from(tag, 'latin1'), numbers(32, sumOf(padded), offset, table.length))
    contents.push(padded)
    offset += padded.length
  }
  const file = Buffer.concat([...directory, ...contents])
  file.writeUInt32BE((MAGIC_SUM - sumOf(file)) >>> 0, headAt + 8)
  return file
}

/** Format 13: one glyph for each range of characters. */
function characters(): Buffer {
  const groups = [0x20, 0x2fff, LATIN, 0x3000, 0xffef, WIDE]
  const subtable = Buffer.concat([
    numbers(16, 13, 0),
    numbers(32, 16 + groups.length * 4, 0, groups.length / 3, ...groups),
  ])
  return Buffer.concat([numbers(16, 0, 1, 3, 10), numbers(32, 12), subtable])
}

function square(side: number): Buffer {
  const onCurve = Buffer.from([1, 1, 1, 1])
  const [across, up] = [numbers(16, 0, 0, side, 0), numbers(16, 0, side, 0, -side)]
  return Buffer.concat([numbers(16, 1, 0, 0, side, side, 3, 0), onCurve, across, up])
}

function names(): Buffer {
  const text = Buffer.from('Blocks', 'utf16le').swap16()
  const ids = [1, 2, 4, 6]
  const records = ids.map((id) => numbers(16, 3, 1, 0x409, id, text.length, 0))
  return Buffer.concat([numbers(16, 0, ids.length, 6 + 12 * ids.length), ...records, text])
}

function os2(ascent: number, descent: number): Buffer {
  const table = Buffer.alloc(96)
  table.writeUInt16BE(4, 0)
  table.writeUInt16BE(REGULAR, 4)
  table.writeUInt16BE(5, 6)
  table.write('NONE', 58, 'latin1')
  table.writeUInt16BE(0x40, 62)
  for (const [at, value] of [
    [64, 0x20],
    [66, 0xffef],
    [68, ascent],
    [74, ascent],
    [76, descent],
  ] as const)
    table.writeUInt16BE(value, at)
  table.writeInt16BE(-descent, 70)
  return table
}

function numbers(bits: 16 | 32, ...values: number[]): Buffer {
  const bytes = bits / 8
  const buffer = Buffer.alloc(values.length * bytes)
  values.forEach((value, index) => {
    buffer.writeUIntBE(value < 0 ? value + 2 ** bits : value, index * bytes, bytes)
  })
  return buffer
}

function sumOf(bytes: Buffer): number {
  let sum = 0
  for (let at = 0; at < bytes.length; at += 4) sum = (sum + bytes.readUInt32BE(at)) >>> 0
  return sum
}
