import { tortureServer } from '../processes/torture.ts'

tortureServer('mysql', {})
