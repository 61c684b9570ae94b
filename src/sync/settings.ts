import { isObject, refuse } from '../base/arguments.ts'
import { type FieldChanges, isDeepEqual, isId, withChanges } from './json.ts'

/** The settings of the whole extension. Other fields are kept as they are. */
export interface SyncSettings {
  readonly featureEnabled: boolean
  readonly scopeMode: 'all' | 'specific'
  /** Required when `scopeMode` is `specific`. */
  readonly scopeTargetId?: string | undefined
  /** A colour code: `#6441a5`. */
  readonly themeToken: string
}

export const DEFAULT_SETTINGS: SyncSettings = {
  featureEnabled: true,
  scopeMode: 'all',
  themeToken: '#6441a5',
}

const COLOUR = /^#([\da-f]{3,4}|[\da-f]{6}|[\da-f]{8})$/i

/**
 * The problem of each invalid field, by field name. Empty if the settings are valid.
 *
 * @example
 * settingsProblems({ featureEnabled: true, scopeMode: 'all', themeToken: 'red' }) // { themeToken: … }
 */
export function settingsProblems(settings: unknown): Readonly<Record<string, string>> {
  if (!isObject(settings)) return { settings: 'expected an object' }
  const { featureEnabled, scopeMode, scopeTargetId, themeToken } = settings
  return {
    ...(typeof featureEnabled !== 'boolean' && { featureEnabled: 'expected true or false' }),
    ...(scopeMode !== 'all' && scopeMode !== 'specific' && { scopeMode: 'expected all or specific' }),
    ...((scopeMode === 'specific'
      ? !isId(scopeTargetId)
      : scopeTargetId !== undefined && typeof scopeTargetId !== 'string') && {
      scopeTargetId: 'expected a non-empty string',
    }),
    ...(!(typeof themeToken === 'string' && COLOUR.test(themeToken)) && {
      themeToken: 'expected a colour such as #6441a5',
    }),
  }
}

/** The rules are those of the built-in settings. A program with `defaults` or a schema of its own has other settings. */
function problemsOf(settings: unknown, defaults: object): Readonly<Record<string, string>> {
  return defaults === DEFAULT_SETTINGS || !isObject(settings) ? settingsProblems(settings) : {}
}

/** A stored field that was invalid `before`, and stays as it is, is not refused. */
function expectSettings(settings: object, defaults: object, before: object): void {
  const known = problemsOf(before, defaults)
  for (const [field, problem] of Object.entries(problemsOf(settings, defaults))) {
    const value = settings[field as keyof typeof settings]
    if (!(field in known) || !isDeepEqual(value, before[field as keyof typeof before]))
      refuse(field, problem.replace('expected ', ''), value)
  }
}

/** The stored settings with the changes. Throws if a change makes a field invalid. */
export function settingsAfter(stored: unknown, changes: FieldChanges, defaults: object): object {
  const before = isObject(stored) ? { ...defaults, ...stored } : defaults
  const settings = withChanges(before, changes)
  expectSettings(settings, defaults, before)
  return settings
}

/** The stored settings, with the default in place of every invalid field, and the problems of these fields. */
export function usableSettings<S extends object>(stored: unknown, defaults: S) {
  if (stored !== undefined && !isObject(stored))
    return { settings: defaults, problems: settingsProblems(stored) }
  const settings: S = { ...defaults, ...stored }
  const problems = problemsOf(settings, defaults)
  const invalid = Object.keys(problems)
  // Without its target, `specific` is invalid too.
  const fields = invalid.includes('scopeTargetId') ? [...invalid, 'scopeMode'] : invalid
  for (const field of fields as (keyof S)[]) settings[field] = defaults[field]
  return { settings, problems }
}
