import type { Entry, Surface } from './declarations/surface.ts'
import { Recorder } from './recorder.ts'

/** Puts a recorder on the global object, where recorded modules and the end of a run look for it. */
export function startRecorder(surface: Surface): ReadonlyMap<string, Entry> {
  const entries = new Map(surface.entries.map((entry) => [entry.specifier, entry]))
  const recorder = new Recorder(surface.types)
  Object.assign(globalThis, { holdfastRecorder: recorder, holdfastEntries: entries })
  return entries
}
