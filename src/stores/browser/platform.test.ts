import { describe, expect, it } from 'vitest'
import { FakeFileSystem } from '../../../test/web/fake-directory.ts'
import { FakeLockManager } from '../../../test/web/fake-locks.ts'
import { platformCases } from '../../../test/web/platform-contract.ts'
import { FakeClock } from '../../testing/index.ts'

describe('the fakes of locks and directories', () => {
  it.each(platformCases)('$title', async ({ observe, expected }) => {
    const directory = new FakeFileSystem(new FakeClock()).root
    expect(await observe({ locks: new FakeLockManager().tab(), directory })).toEqual(expected)
  })
})
