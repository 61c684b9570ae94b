import { isObject, refuse } from '../base/arguments.ts'
import { isId } from './json.ts'

/** The settings of the whole extension. Other fields are kept as they are. */
export interface SyncSettings {
  readonly featureEnabled: boolean
  readonly scopeMode: 'all' | 'specific'
  /** Required when `scopeMode` is `specific`. */
  readonly scopeTargetId?: string
  /** A colour code: `#6441a5`. */
  readonly themeToken: string
}

export const DEFAULT_SETTINGS: SyncSettings = {
  featureEnabled: true,
  scopeMode: 'all',
  themeToken: '#6441a5',
}

const COLOUR = /^#([\da-f]{3,4}|[\da-f]{6}|[\da-f]{8})$/i

/** The problem of each invalid field, by field name. Empty if the settings are valid. */
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

export function expectSettings(settings: object, prefix = ''): void {
  for (const [field, problem] of Object.entries(settingsProblems(settings)))
    refuse(prefix + field, problem.replace('expected ', ''), settings[field as keyof typeof settings])
}
