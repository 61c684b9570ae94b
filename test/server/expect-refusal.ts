import { expect } from 'vitest'
import { LeaseError } from '../../src/base/errors.ts'

/** Whatever may be given by mistake in place of an object, a function or a client. */
export const FOREIGN = [null, 10n, Symbol('x'), 'x', 7, [], Object.create(null)]

/** The call must throw or reject with an `invalid-argument` that names the option and the received value. */
export async function expectRefusal(call: () => unknown, option: string): Promise<void> {
  const error = await (async () => call())().catch((error: unknown) => error)
  expect(error).toBeInstanceOf(LeaseError)
  expect(error).toMatchObject({
    code: 'invalid-argument',
    message: expect.stringMatching(new RegExp(`^${option}: expected .*, got `)),
  })
}
