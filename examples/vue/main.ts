import { createApp } from 'vue'
import { Minutes } from './minutes.ts'

const name = new URLSearchParams(location.search).get('name') ?? 'Mika'
createApp(Minutes, { name }).mount('#root')
