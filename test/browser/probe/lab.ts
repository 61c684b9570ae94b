/** A page of the extension in which a test can create any sync. */
import * as sync from '../../../src/sync/index.ts'

Object.assign(globalThis, sync)
