/** The answers that the log has in place of records that were carried out. */
import type { LeaseError } from '../base/errors.ts'
import type { Outcome } from './writer.ts'
import type { WriterTools } from './writer-tools.ts'

/** What the coordinator's answer to a record says. `undefined`: there is none. */
export function outcomeIn({ isAnswer }: WriterTools, key: string, answer: unknown): Outcome | undefined {
  if (answer === undefined) return undefined
  return { answers: new Map([[key, answer]]), gone: new Set(isAnswer(answer) ? answer.gone : []) }
}

/** Why the operation at this position of a record could not be carried out. */
export function refusalIn(
  { LeaseError, isAnswer }: WriterTools,
  answer: unknown,
  position: number,
): LeaseError | undefined {
  const refusal = isAnswer(answer) ? answer.refused[position] : null
  if (!refusal) return undefined
  const { code, message, resource } = refusal
  const why = typeof message === 'string' ? message : 'the write was refused'
  return new LeaseError(code, why, { resource })
}
