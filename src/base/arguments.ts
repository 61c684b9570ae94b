/** Checks of options and arguments. Each failure names the option, the expected value and the received value. */
import { LeaseError } from './errors.ts'
import { show } from './show.ts'
import { hintFor, suggest } from './suggest.ts'

export { show }

export function refuse(option: string, expected: string, received: unknown, shown = show(received)): never {
  fail(`${option}: expected ${expected}, got ${shown}${hintFor(option, received)}`)
}

/** For clients and addresses: a text is not shown, because it may contain a password. */
export function refuseClient(option: string, expected: string, received: unknown): never {
  refuse(option, expected, received, typeof received === 'string' ? 'a string' : undefined)
}

function fail(message: string): never {
  throw new LeaseError('invalid-argument', message)
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function expectObject<T>(option: string, value: T): asserts value is T & Record<string, unknown> {
  if (!isObject(value)) refuse(option, 'an object', value)
}

/** All option names of `T`. The compiler refuses a list that lacks one. */
export type Known<T> = { readonly [Name in keyof T]-?: unknown }

/** Refuses an option that is not `known`. `prefix`: of nested options, such as `retry.`. */
export function expectOptions<T extends object>(options: T, known: Known<T>, prefix = ''): void {
  // The address of a server in the wrong place must not be shown.
  if (!isObject(options)) refuseClient('options', 'an object', options)
  for (const name in options)
    if (!(name in known)) fail(`\`${prefix}${name}\`: unknown option, ${suggest(name, Object.keys(known))}`)
}

/** The options of `T` with every default filled in. */
export type Complete<T> = { readonly [Name in keyof T]-?: Exclude<T[Name], undefined> }

/** The options that are set: one that is `undefined` counts as absent. */
export function definedIn<T extends object>(options: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  const set = Object.entries(options).filter(([, value]) => value !== undefined)
  return Object.fromEntries(set) as { [Name in keyof T]?: Exclude<T[Name], undefined> }
}

/** How to check each option of `T`: `check` throws, and may return what to use instead of the value. */
export type Checks<T> = { readonly [Name in keyof T]-?: (option: string, value: unknown) => unknown }

/** The options that are set, each checked. `prefix`: of nested options, such as `retry.`. */
export function checkEach<T extends object>(options: T, checks: Checks<T>, prefix = ''): object {
  expectOptions(options, checks, prefix)
  const checked: Partial<Record<keyof T, unknown>> = {}
  for (const name in checks) {
    const value = options[name]
    if (value !== undefined) checked[name] = checks[name](prefix + name, value) ?? value
  }
  return checked
}

export function expectFunction<T>(
  option: string,
  value: T,
): asserts value is T & ((...args: never[]) => unknown) {
  if (typeof value !== 'function') refuse(option, 'a function', value)
}

/** A non-empty string. */
export function expectText(option: string, value: unknown): asserts value is string {
  if (typeof value !== 'string' || !value) refuse(option, 'a non-empty string', value)
}

export function expectBoolean(option: string, value: unknown): asserts value is boolean {
  if (typeof value !== 'boolean') refuse(option, 'true or false', value)
}

export function expectWhole(option: string, value: unknown, min: number, max = Infinity): void {
  if (!isWhole(value, min, max))
    refuse(option, `a whole number from ${min}${max < Infinity ? ` to ${max}` : ''}`, value)
}

/** Whether it is a whole number in this range. */
export function isWhole(value: unknown, min: number, max: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max
}

export function expectOneOf(option: string, value: unknown, choices: readonly string[]): void {
  if (!choices.includes(value as string)) refuse(option, choices.map(show).join(' or '), value)
}

export function expectSignal(option: string, value: unknown): asserts value is AbortSignal {
  if (!hasMethods(value, 'addEventListener')) refuse(option, 'an AbortSignal', value)
}

/** `expected` describes the port in words, such as `a StorageAdapter`. */
export function expectMethods(
  option: string,
  value: unknown,
  expected: string,
  ...methods: readonly string[]
): void {
  if (!hasMethods(value, ...methods)) refuse(option, `${expected} (with ${methods.join(', ')})`, value)
}

/** Works for every value, also for one whose getters throw. */
export function hasMethods(value: unknown, ...methods: readonly string[]): boolean {
  try {
    return methods.every((method) => typeof Object(value)[method] === 'function')
  } catch {
    return false
  }
}
