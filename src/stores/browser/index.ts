/** What the web stores and the project lock are built of. */
export { AGAIN, type Content, type Decide, type GatedFile, gatedFile, REMOVAL_MS } from './gated-file.ts'
export { type Hold, type LockDesk, lockDesk } from './lock-desk.ts'
export {
  type DirectorySource,
  nameOf,
  openDirectory,
  type WebDirectory,
  type WebFile,
  type WebLocks,
  type WebWriter,
} from './platform.ts'
