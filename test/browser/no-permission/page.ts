import * as sync from '../../../src/sync/index.ts'

Object.assign(globalThis, { sync })
