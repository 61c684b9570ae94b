/** The parts of the web stores that the project lock uses as well. */
export { nameOf } from '../../clients/browser-errors.ts'
export { AGAIN, type Content, type Decide, type GatedFile, gatedFile } from './gated-file.ts'
export {
  type DirectorySource,
  openDirectory,
  type WebDirectory,
  type WebFile,
  type WebLocks,
  type WebWriter,
} from './platform.ts'
export { tabLocks } from './tab-locks.ts'
