/**
 * A save is one JSON file that can be verified. Its head has a fixed form and contains the time and the checksum of
 * the text of `data`. The file ends right after that text.
 */

import { lostInJson } from '../base/json-value.ts'
import { AutoSaveError } from './errors.ts'
import { PIECE_LENGTH, PIECES_FROM_BYTES } from './options.ts'

/** What is known about a save without reading its data. */
export interface SaveInfo {
  /** The time as ISO 8601. A later save has a later id. */
  readonly id: string
  /** 64 bits as hexadecimal. */
  readonly checksum: string
  /** Of the state as JSON, in UTF-8. */
  readonly bytes: number
}

export interface Save extends SaveInfo {
  /** The state as JSON. */
  readonly text: string
}

export type SaveContent = Omit<Save, 'id'>

/** The state as JSON, with its checksum. */
export function serialize(read: () => unknown): SaveContent {
  let text: string | undefined
  let lost: string | null
  try {
    const state = read()
    text = JSON.stringify(state)
    lost = text === undefined ? 'nothing' : lostInJson(state)
  } catch (error) {
    throw new AutoSaveError('read-failed', 'the state could not be converted to JSON', error)
  }
  if (text === undefined || lost)
    throw new AutoSaveError('read-failed', `read: expected a value that JSON can represent, got ${lost}`)
  return { text, ...measure(text) }
}

/**
 * Two lanes of FNV-1a over the characters of a well-formed text. They detect damage, not forgery. Unlike SHA-256 they
 * need no copy of the text as bytes, which would take longer than all other steps of preparing a save.
 */
export function measure(text: string): Pick<Save, 'checksum' | 'bytes'> {
  let first = 0x811c9dc5
  let second = 0x9747b28c
  let bytes = text.length
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    first = Math.imul(first ^ unit, 0x01000193)
    second = Math.imul(second ^ unit, 0x85ebca6b) ^ (second >>> 15)
    // A surrogate pair takes four bytes, two for each half.
    if (unit > 0x7f) bytes += unit > 0x7ff && (unit & 0xf800) !== 0xd800 ? 2 : 1
  }
  return { checksum: hex(first) + hex(second), bytes }
}

function hex(lane: number): string {
  return (lane >>> 0).toString(16).padStart(8, '0')
}

const HEAD = /^\{"holdfast":1,"savedAt":"([^"]+)","bytes":(\d{1,15}),"checksum":"([0-9a-f]{16})","data":/
/** Longer than any head, in characters. */
export const HEAD_LENGTH = 200

export function encodeSave({ id, bytes, checksum, text }: Save): string {
  return `{"holdfast":1,"savedAt":"${id}","bytes":${bytes},"checksum":"${checksum}","data":${text}}`
}

/** The bytes of the file of a save. The head is ASCII. */
export function fileSizeOf(info: SaveInfo): number {
  return encodeSave({ ...info, text: '' }).length + info.bytes
}

/**
 * The pieces in which a file is written. If one write is longer than Chromium's pipe (2 MiB) and exceeds the quota,
 * Chromium ends it without saying that the quota was the reason.
 */
export function* piecesOf(file: string, bytes: number): Generator<string> {
  const length = bytes < PIECES_FROM_BYTES ? file.length : PIECE_LENGTH
  for (let from = 0; from < file.length; ) {
    const to = from + length
    // A surrogate pair must stay in one piece, because half of it cannot be written.
    const piece = file.slice(from, isHighSurrogate(file.charCodeAt(to - 1)) ? to + 1 : to)
    yield piece
    from += piece.length
  }
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00
}

/** The save in a file; `null`: the file is incomplete, damaged or not a save. */
export function decodeSave(file: string): Save | null {
  const info = decodeHead(file)
  if (!info || !file.endsWith('}')) return null
  const text = file.slice(HEAD.exec(file)?.[0].length, -1)
  const measured = measure(text)
  return measured.checksum === info.checksum ? { ...info, ...measured, text } : null
}

export function decodeHead(file: string): SaveInfo | null {
  const [, id, bytes, checksum] = HEAD.exec(file) ?? []
  return id && bytes && checksum && timeOf(id) !== null ? { id, bytes: Number(bytes), checksum } : null
}

/** Some file systems do not allow `:` in names. */
export function fileNameOf(id: string): string {
  return `${id.replaceAll(':', '-')}.json`
}

/** The id of the save in a file of this name; `null` for other files, such as the `….crswap` of a writer. */
export function idOfFileName(name: string): string | null {
  const [, hour, minute, second] = /^[^:]+T(\d\d)-(\d\d)-([^:]+Z)\.json$/.exec(name) ?? []
  if (!hour || !minute || !second) return null
  const id = `${name.slice(0, name.indexOf('T') + 1)}${hour}:${minute}:${second}`
  return timeOf(id) === null ? null : id
}

/** Milliseconds since 1970; `null`: not a valid id. */
export function timeOf(id: string): number | null {
  const time = Date.parse(id)
  return Number.isNaN(time) ? null : time
}
