/** The collection that all contexts share. */
import { chromeContext, createSync, type Sync } from 'holdfast/sync'

export interface Note {
  readonly text: string
}

export function openNotes(): Sync<Note> {
  return createSync<Note>(chromeContext())
}

/** Shown at once everywhere. It is kept even if the page closes right after the call. */
export function addNote(notes: Sync<Note>, text: string): Promise<void> {
  // On pages without https there is no crypto.randomUUID.
  return notes.setEntity(crypto.getRandomValues(new Uint32Array(4)).join('-'), { text })
}
