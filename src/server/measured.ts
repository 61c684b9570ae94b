import { aroundCalls } from '../base/around-calls.ts'
import type { Clock } from '../base/clock.ts'
import { LeaseError } from '../base/errors.ts'
import { notify } from '../base/notify.ts'
import type { Meter, Part } from './stats.ts'

/** The same part of the service, whose calls are measured. */
export function measured<T extends object>(
  part: Part,
  target: T,
  methods: readonly (keyof T & string)[],
  { meter, clock }: { readonly meter: Meter | undefined; readonly clock: Clock },
): T {
  if (!meter) return target
  return aroundCalls(target, methods, async (method, run) => {
    const startedAt = clock.monotonic()
    const report = (code?: string) =>
      notify(() => meter.call(part, method, (clock.monotonic() - startedAt) / 1000, code))
    try {
      const result = await run()
      report()
      return result
    } catch (error) {
      report(error instanceof LeaseError ? error.code : 'error')
      throw error
    }
  })
}
