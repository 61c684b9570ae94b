import { measure } from './checksum.ts'
import { AutoSaveError } from './errors.ts'
import type { Save } from './save-file.ts'

export type Content = Omit<Save, 'id'>

/** The state as it will be saved. */
export function compose(read: () => unknown): Content {
  const text = stringify(read)
  if (text === undefined)
    throw new AutoSaveError('read-failed', 'read: expected a value that JSON can carry, got none')
  return { text, ...measure(text) }
}

function stringify(read: () => unknown): string | undefined {
  try {
    return JSON.stringify(read())
  } catch (error) {
    throw new AutoSaveError('read-failed', 'the state could not be put into JSON', error)
  }
}
