/*
 * Saves a project under the project lock, with history and journal. A pure reducer (`state.ts`) holds the phases;
 * `saver.ts` sends it actions and acts on its state. `writer-lock.ts` is the lock of one AutoSave, `save-file.ts`
 * the format of a save, `restore.ts` finds and loads saves, and `read-only.ts` is what follows when this tab may not
 * write.
 *
 * Each save is its own file in `history/`, and `current.json` only names the one that counts. So the state is
 * written once, the commit is one small replacement, and it needs no rename, which folders that a user picked lack.
 * Every save carries a checksum, over characters: a copy as bytes for SHA-256 takes longer than the rest of
 * preparing a save.
 *
 * `tab-channel.ts`: the tabs announce saves and ask for the lock over a BroadcastChannel. Every message is a hint.
 * The commit opens `current.json` exclusively and compares what it names. `edit-tracker.ts` knows which save the
 * state in memory is based on: a save of another tab since then is a conflict, which a person must decide. A page
 * that closes may still commit the save that it had begun; its journal names that save as its own. Handles of
 * folders are kept between saves but looked up before a file is created: in Chromium, creating a file with a handle
 * from before the site data was cleared damages the directory for every tab.
 */
export type { AutoSaveErrorCode } from '../base/errors.ts'
export { createAutoSave } from './autosave.ts'
export type { Directory, FileHandle, FileWriter } from './directory.ts'
export { AutoSaveError } from './errors.ts'
export { type Journal, localStorageJournal } from './journal.ts'
export type { AutoSaveOptions, FlushOptions, RestoreOptions } from './options.ts'
export { canRetry, canTakeover, INITIAL_AUTOSAVE_STATE } from './state.ts'
export type { TabChannel } from './tab-channel.ts'
export type * from './types.ts'
