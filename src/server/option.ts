import { parseDuration } from '../base/duration.ts'

/** What a setting may be, whether it comes as text from the environment or as a value from a file. */
export interface Option<T> {
  readonly default: T
  /** In words, for the error. */
  readonly expected: string
  /** `undefined` for what is none. */
  parse(value: unknown): T | undefined
  /** A value that was refused, in the error. */
  show(value: unknown): string
}

const MIN_SECRET = 16
const MAKE_SECRET = '`openssl rand -hex 16` makes one'

export function duration(byDefault: string, min: string, max: string): Option<number> {
  const [from, to] = [parseDuration(min) ?? 0, parseDuration(max) ?? 0]
  return {
    default: parseDuration(byDefault) ?? 0,
    expected: `a duration such as 500ms, 30s, 5m or a number of milliseconds, from ${min} to ${max}`,
    parse: (value) => within(parseDuration(value), from, to),
    show,
  }
}

export function whole(byDefault: number, from: number, to: number): Option<number> {
  return {
    default: byDefault,
    expected: `a whole number from ${from} to ${to}`,
    parse: (value) => within(parseWhole(value), from, to),
    show,
  }
}

export function bytes(byDefault: number, from: number, to: number): Option<number> {
  return { ...whole(byDefault, from, to), expected: `a number of bytes from ${from} to ${to}` }
}

export function text(byDefault: string): Option<string> {
  return {
    default: byDefault,
    expected: 'a non-empty text',
    parse: (value) => (typeof value === 'string' && value !== '' ? value : undefined),
    show,
  }
}

/** Empty: none. */
export function path(): Option<string> {
  return {
    default: '',
    expected: 'the path of a file',
    parse: (value) => (typeof value === 'string' ? value : undefined),
    show,
  }
}

export function flag(byDefault: boolean): Option<boolean> {
  return {
    default: byDefault,
    expected: 'true or false',
    parse: (value) => ({ true: true, false: false, 1: true, 0: false })[String(value)],
    show,
  }
}

export function choice<T extends string>(byDefault: T, choices: readonly T[]): Option<T> {
  return {
    default: byDefault,
    expected: `one of ${choices.join(', ')}`,
    parse: (value) => choices.find((one) => one === value),
    show,
  }
}

export function list(): Option<readonly string[]> {
  return { default: [], expected: 'a list of texts, or one text with commas', parse: parseList, show }
}

/** A list of secrets. None of them is ever shown. */
export function secrets(): Option<readonly string[]> {
  return {
    default: [],
    expected: `a list of texts of at least ${MIN_SECRET} characters each (${MAKE_SECRET}), or one text with commas`,
    parse: (value) => {
      const found = parseList(value)
      return found?.some(isShort) ? undefined : found
    },
    show: (value) => hide(parseList(value)?.find(isShort) ?? value),
  }
}

/** Empty: none, and one is made at start. */
export function secret(): Option<string> {
  return {
    default: '',
    expected: `a text of at least ${MIN_SECRET} characters (${MAKE_SECRET})`,
    parse: (value) => (typeof value === 'string' && (value === '' || !isShort(value)) ? value : undefined),
    show: hide,
  }
}

function isShort(secret: string): boolean {
  return secret.length < MIN_SECRET
}

function parseWhole(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  return typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : undefined
}

function within(value: number | undefined, from: number, to: number): number | undefined {
  return value !== undefined && Number.isInteger(value) && value >= from && value <= to ? value : undefined
}

function parseList(value: unknown): readonly string[] | undefined {
  const items = typeof value === 'string' ? value.split(',').map((item) => item.trim()) : value
  if (!Array.isArray(items)) return undefined
  return items.every((item) => typeof item === 'string' && item !== '') ? items : undefined
}

/** For an error. */
export function show(value: unknown): string {
  const shown = jsonOf(value) ?? (typeof value === 'object' ? 'an object' : String(value))
  return shown.length > 60 ? `${shown.slice(0, 60)}…` : shown
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    // Cyclic, or a BigInt.
    return undefined
  }
}

/** For an error about a secret. */
export function hide(value: unknown): string {
  if (typeof value === 'string') return `a text of ${value.length} characters`
  if (value === null) return 'null'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
