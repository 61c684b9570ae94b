/**
 * A save is one JSON file that can prove itself: its head, of fixed form, has the time and the checksum of the text
 * of `data`, and the file ends right behind that text.
 */
import { measure } from './checksum.ts'

/** What is known of a save without reading all of it. */
export interface Entry {
  /** ISO 8601. A later save has a later one, so it is the name as well. */
  readonly id: string
  readonly checksum: string
  /** Of the state as JSON. */
  readonly bytes: number
}

export interface Save extends Entry {
  /** The state as JSON. */
  readonly text: string
}

const HEAD = /^\{"holdfast":1,"savedAt":"([^"]+)","bytes":(\d+),"checksum":"([0-9a-f]{16})","data":/
/** Enough characters to hold any head. */
export const HEAD_LENGTH = 200

export function encodeSave({ id, bytes, checksum, text }: Save): string {
  return `{"holdfast":1,"savedAt":"${id}","bytes":${bytes},"checksum":"${checksum}","data":${text}}`
}

/**
 * What to write at once. Chromium breaks off a longer write that exceeds the quota (its pipe holds 2 MiB), and does
 * not say then that it was the quota.
 */
export function* piecesOf(file: string, bytes: number): Generator<string> {
  const length = bytes < 2_000_000 ? file.length : 600_000
  for (let from = 0; from < file.length; ) {
    const to = from + length
    // A pair of surrogates is one character: halves would be written as none.
    const piece = file.slice(from, isHighSurrogate(file.charCodeAt(to - 1)) ? to + 1 : to)
    yield piece
    from += piece.length
  }
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00
}

/** The save that the file holds; `null` when it is torn, damaged or no save at all. */
export function decodeSave(file: string): Save | null {
  const entry = decodeHead(file)
  if (!entry || !file.endsWith('}')) return null
  const text = file.slice(HEAD.exec(file)?.[0].length, -1)
  return measure(text).checksum === entry.checksum ? { ...entry, text } : null
}

export function decodeHead(file: string): Entry | null {
  const [, id, bytes, checksum] = HEAD.exec(file) ?? []
  return id && bytes && checksum && timeOf(id) !== null ? { id, bytes: Number(bytes), checksum } : null
}

/** `:` is no character of a file name everywhere. */
export function fileNameOf(id: string): string {
  return `${id.replaceAll(':', '-')}.json`
}

/** The save that a file of this name holds; `null` for other files, such as a writer's own `….crswap`. */
export function idOfFileName(name: string): string | null {
  const [, hour, minute, second] = /^[^:]+T(\d\d)-(\d\d)-([^:]+Z)\.json$/.exec(name) ?? []
  if (!hour || !minute || !second) return null
  const id = `${name.slice(0, name.indexOf('T') + 1)}${hour}:${minute}:${second}`
  return timeOf(id) === null ? null : id
}

/** Milliseconds since 1970; `null` when the id is none. */
export function timeOf(id: string): number | null {
  const time = Date.parse(id)
  return Number.isNaN(time) ? null : time
}
