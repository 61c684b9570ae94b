/*
 * Judges what happened, from records that processes made while they ran. Each rule is a function from records to
 * sentences, one for each violation. No rule trusts what the judged code says about itself, and none reports what may
 * have been correct: where an answer was lost, each possible outcome is allowed.
 */
export { type HeardUnlock, type Listening, type Unlock, unlockViolations } from './announcements.ts'
export { type Hold, holdViolations } from './holds.ts'
export { type LeaseHistoryOptions, type LeaseOperation, leaseViolations } from './leases.ts'
export { type RegisterOperation, registerViolations, replicaViolations } from './registers.ts'
export { type JobLockTime, type JobOutcome, type JobRun, outcomeViolations, runViolations } from './runs.ts'
export { type CarriedOutSave, saveViolations } from './saves.ts'
export { type Fate, type Findings, WordRecord, wordsOf } from './words.ts'
