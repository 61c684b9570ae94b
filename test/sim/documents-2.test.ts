import { checkWorld } from './check-world.ts'

checkWorld('documents', { first: 2, step: 2 })
