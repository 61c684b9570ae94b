import { join } from 'node:path'
import { describeScenarios, storeAt } from './describe-scenarios.ts'

describeScenarios(
  'the SQLite store',
  storeAt((directory) => `sqlite:${join(directory, 'leases.db')}`),
)
