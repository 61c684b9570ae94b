import { PROBLEMS } from '../../../src/idempotency/problems.ts'
import { code, type ExpectedRow, type TableCheck } from './compare-table.ts'
import { sourceOf } from './declarations.ts'

const TESTS = [
  'test/idempotency/describe-idempotency.ts',
  'src/idempotency/idempotent.test.ts',
  'test/stores/idempotency-processes.test.ts',
]

/** What other libraries document, beside ours. `test`: the end of the title of the test that shows ours. */
const COMPARISON: readonly {
  readonly behaviour: string
  readonly powertools: string
  readonly stripe: string
  readonly nodeIdempotency: string
  readonly ours: string
  readonly test: string
}[] = [
  {
    behaviour: 'the key',
    powertools: 'a hash of the event or of parts of it',
    stripe: 'a header, up to 255 characters',
    nodeIdempotency: 'a header, up to 256 characters',
    ours: "the draft's header, up to 255 characters, with or without quotes",
    test: 'takes a key without quotes, which is the same key, unless the format is strict',
  },
  {
    behaviour: 'no key',
    powertools: 'passes; an error with `throwOnNoIdempotencyKey`',
    stripe: 'passes',
    nodeIdempotency: 'passes; an error with `enforceIdempotency`',
    ours: '400; passes with `required: false`',
    test: 'refuses a request without a key with 400, unless none is required',
  },
  {
    behaviour: 'the key comes with another request',
    powertools: 'the earlier result; an error with `payloadValidationJmespath`',
    stripe: 'an error, by the parameters',
    nodeIdempotency: 'an error, by the body',
    ours: '422, by method, path, query, body and principal',
    test: 'refuses %s with the same key, with 422',
  },
  {
    behaviour: 'the first request still runs',
    powertools: 'an error, which may be retried',
    stripe: 'an error, which may be retried',
    nodeIdempotency: 'an error',
    ours: '409 with `Retry-After`; with `wait`, its answer',
    test: 'lets a request with the same key wait for the answer of the first one',
  },
  {
    behaviour: 'fifty requests at once',
    powertools: 'one runs, by a conditional write',
    stripe: 'one runs',
    nodeIdempotency: 'one runs ("race condition free")',
    ours: 'one runs, by the lock of the job',
    test: 'has one effect for fifty requests at once: the others are refused, or get its answer',
  },
  {
    behaviour: 'a replay',
    powertools: 'the returned value, as JSON',
    stripe: 'status and body',
    nodeIdempotency: 'status and body',
    ours: 'status, headers of a list, body byte by byte, `Idempotent-Replayed: true`',
    test: 'runs once, and a repeated request gets the same status, headers and body',
  },
  {
    behaviour: 'answers are kept',
    powertools: 'one hour',
    stripe: 'at least 24 hours',
    nodeIdempotency: '24 hours',
    ours: '24 hours, by the clock of the store',
    test: 'keeps an answer for a day if nothing else is said',
  },
  {
    behaviour: 'the handler throws',
    powertools: 'the record is deleted',
    stripe: 'kept, also 500',
    nodeIdempotency: 'as the application says',
    ours: 'not kept, the next request runs',
    test: 'passes on what the handler throws, and the next request runs again',
  },
  {
    behaviour: 'an answer 5xx',
    powertools: 'kept, if it was returned',
    stripe: 'kept',
    nodeIdempotency: '–',
    ours: 'not kept, unless `keeps` says so',
    test: 'keeps what the option keeps says',
  },
  {
    behaviour: 'the process dies',
    powertools: "runs again when the Lambda's time is over",
    stripe: '–',
    nodeIdempotency: '–',
    ours: 'runs again when the TTL is over',
    test: 'is carried out by another process when the TTL of its key is over',
  },
  {
    behaviour: 'the handler takes longer than that',
    powertools: '– (a Lambda is stopped then)',
    stripe: '–',
    nodeIdempotency: '–',
    ours: 'heartbeats hold the key',
    test: 'holds the key of a handler that runs longer than the TTL',
  },
  {
    behaviour: 'a late answer of a process that lost its key',
    powertools: '–',
    stripe: '–',
    nodeIdempotency: '–',
    ours: 'is not stored over that of its successor',
    test: 'returns its own answer when the key was lost meanwhile, but does not store it over the successor',
  },
  {
    behaviour: 'the same key of another user',
    powertools: '– (keys of one function)',
    stripe: '–',
    nodeIdempotency: '–',
    ours: 'is another key',
    test: 'has keys of its own for each principal, so that nobody gets the answer of another one',
  },
  {
    behaviour: 'only parts of the body count',
    powertools: '`eventKeyJmespath`',
    stripe: '–',
    nodeIdempotency: '–',
    ours: '`fingerprint`',
    test: 'compares only what fingerprint returns, and leaves the body to the handler',
  },
  {
    behaviour: 'the answer is too large to store',
    powertools: 'the function fails (400 KB in DynamoDB)',
    stripe: '–',
    nodeIdempotency: '–',
    ours: 'is passed on, and a repeated request is 409',
    test: 'passes an answer on that is too large to keep, and refuses later requests by name',
  },
  {
    behaviour: 'the store is away',
    powertools: 'an error',
    stripe: '–',
    nodeIdempotency: '–',
    ours: "503, or passes with `onUnavailable: 'pass'`",
    test: 'refuses with 503 while the store is away, and reports why',
  },
]

export const IDEMPOTENCY_CHECKS: readonly TableCheck[] = [
  {
    table: 'docs/idempotency.md#Answers',
    about: 'the code',
    isOrdered: true,
    rows: () =>
      Object.entries(PROBLEMS).map(
        ([name, [status, meaning]]): ExpectedRow => [code(name), String(status), meaning],
      ),
  },
  {
    table: 'docs/idempotency.md#Beside what you know',
    about: 'the behaviour',
    isOrdered: true,
    rows: () => COMPARISON.map(shownByTest),
  },
]

/** Throws unless there is a test with this title. */
function shownByTest(row: (typeof COMPARISON)[number]): ExpectedRow {
  const { behaviour, powertools, stripe, nodeIdempotency, ours, test } = row
  if (!TESTS.some((file) => sourceOf(file).includes(`${test}', `)))
    throw new Error(`docs/idempotency.md: no test is called "${test}"`)
  return [behaviour, powertools, stripe, nodeIdempotency, ours, test]
}
