// A round trip through a client that openapi-generator has made; arguments: origin, key.
package main

import (
	"context"
	"fmt"
	"laari"
	"os"
)

const amount int64 = 9_999_999_999
const balance int64 = 1_000_000_000_000

func check(holds bool, what string, err error) {
	if err != nil || !holds {
		fmt.Fprintln(os.Stderr, "not so:", what, err)
		os.Exit(1)
	}
}

func main() {
	configuration := laari.NewConfiguration()
	configuration.Servers[0].URL = os.Args[1]
	client := laari.NewAPIClient(configuration)
	as := func(scheme string, key string) context.Context {
		keys := map[string]laari.APIKey{scheme: {Key: key}}
		return context.WithValue(context.Background(), laari.ContextAPIKeys, keys)
	}
	shop := as("ApiKey", os.Args[2])

	set := laari.NewSandboxWalletSet()
	set.SetBalance(balance)
	set.SetTier("business")
	wallet, _, err := client.SandboxControlsAPI.SandboxSetWallet(shop).SandboxWalletSet(*set).Execute()
	check(wallet.GetData().Balance == balance, "balance", err)

	order := laari.NewPaymentCreate("go", amount)
	created, _, err := client.PaymentsAPI.CreatePayment(shop).PaymentCreate(*order).IdempotencyKey("go").Execute()
	check(created != nil, "created", err)
	payment := created.Data
	check(payment.Amount == amount && payment.Status == "pending" && payment.Fee.Get() == nil, "pending", nil)

	paid, _, err := client.SandboxControlsAPI.SandboxPayPayment(shop, payment.Id).Execute()
	check(paid != nil, "paid", err)
	check(*paid.Data.Fee.Get()+*paid.Data.NetAmount.Get() == amount, "fee", nil)

	page, _, err := client.PaymentsAPI.ListPayments(shop).Status("paid").CreatedFrom(payment.CreatedAt).Execute()
	check(page != nil && len(page.Data) == 1 && page.Data[0].Amount == amount, "listed", err)
	check(*page.Data[0].PaymentUrl == payment.PaymentUrl, "with its link", nil)
	read, _, err := client.PaymentsAPI.GetPayment(shop, payment.Id).Execute()
	check(read.Data.PaidAt.Get().Equal(*paid.Data.PaidAt.Get()), "read", err)

	events, _, err := client.EventsAPI.ListEvents(shop).Execute()
	check(events != nil && len(events.Data) == 2, "events", err)
	for _, event := range events.Data {
		check(event.PaymentEvent != nil && event.PaymentEvent.Data.Amount == amount, "typed", nil)
	}

	ahead := laari.NewSandboxClockMove()
	ahead.SetAdvanceSeconds(3_000_000_000)
	clock, _, err := client.SandboxControlsAPI.SandboxMoveClock(shop).SandboxClockMove(*ahead).Execute()
	check(clock.GetData().OffsetSeconds == 3_000_000_000, "clock", err)

	owner := as("WalletKey", wallet.GetData().ApiKey)
	balances, _, err := client.WalletAPI.WalletBalance(owner).Execute()
	check(balances.Data[0].LedgerBalance == float64(balance-amount)/100, "wallet", err)
	fmt.Println("done")
}
