import { describeScenarios, storeAt } from './describe-scenarios.ts'

const { FIRESTORE_EMULATOR_HOST = '' } = process.env

describeScenarios(
  'the Firestore store',
  storeAt(() => `firestore://${FIRESTORE_EMULATOR_HOST}`),
  // Its transactions are slow.
  { shortMs: 1500 },
)
